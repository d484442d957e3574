"""Everything between a campaign file and measured rows."""
