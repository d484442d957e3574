"""Compact verify window from drafts of unequal length."""
