"""Lowest id of the largest logit in each row."""
