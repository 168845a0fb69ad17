"""Trainings of somebody else, followed from outside: the hooks, the file, and what is shown of it."""
