"""Acceptance of drafts that equal the target's argmax."""
