"""Training runs of other programs, recorded from outside: hooks, files, and sessions."""
