"""Kimi Delta Attention over a verify window, with a snapshot after each position."""
