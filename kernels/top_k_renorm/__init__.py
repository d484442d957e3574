"""Keep the k most likely tokens and renormalise."""
