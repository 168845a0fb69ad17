"""What is learned, as something to look at."""
