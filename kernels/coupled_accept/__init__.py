"""Acceptance by shared Gumbel noise."""
