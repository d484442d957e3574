"""One sampling step of the Markov draft head."""
