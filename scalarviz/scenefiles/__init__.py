"""Scene files: found by name or path, their options, and the errors of users' code."""
