"""Keep the smallest head of the distribution that holds top_p mass and renormalise."""
