"""Select the greedy or the sampled verdict row by row."""
