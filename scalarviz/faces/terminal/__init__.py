"""Training in a terminal: pictures, keys, progress bars."""
