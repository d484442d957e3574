"""Speculative rejection sampling along a chain of drafts."""
