"""Causal attention of a stretch of prompt over paged keys and values."""
