"""Arrays in, picture out."""
