"""Length scheduler of the verify window."""
