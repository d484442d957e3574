"""Gumbel-max sampling of rows with counter-based noise."""
