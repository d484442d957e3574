"""Decay and write strength of Kimi Delta Attention."""
