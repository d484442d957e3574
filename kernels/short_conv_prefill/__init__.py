"""Causal depthwise convolution over a stretch of prompt."""
