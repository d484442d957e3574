"""Attention of a verify window over paged keys and values, causal inside the window."""
