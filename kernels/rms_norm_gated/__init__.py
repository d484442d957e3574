"""RMS normalisation of each KDA head, times a sigmoid gate."""
