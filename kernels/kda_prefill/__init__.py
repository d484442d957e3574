"""Kimi Delta Attention over a stretch of prompt."""
