"""The programs: what a user starts."""
