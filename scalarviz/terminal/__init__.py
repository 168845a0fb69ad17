"""The face of a training in a terminal."""
