"""Training in a terminal, with a progress bar."""
