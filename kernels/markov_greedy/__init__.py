"""One greedy step of the Markov draft head."""
