"""Trainings by other programs, followed from outside: the hooks, the file, and its session."""
