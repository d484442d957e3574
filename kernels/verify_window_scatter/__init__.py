"""Scatter compact verify rows back to a rectangle."""
