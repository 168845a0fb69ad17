"""Record training runs of other programs with hooks, store them in files, and show them."""
