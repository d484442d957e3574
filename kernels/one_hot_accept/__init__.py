"""Rejection sampling for drafts that came without a distribution."""
