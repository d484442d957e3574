"""Attention of one new token a request over its paged keys and values."""
