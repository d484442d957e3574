"""Causal depthwise convolution over a verify window, with the state after each position."""
