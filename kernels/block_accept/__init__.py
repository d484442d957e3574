"""Blockwise rejection sampling."""
