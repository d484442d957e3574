"""Kimi Delta Attention, one token a request."""
