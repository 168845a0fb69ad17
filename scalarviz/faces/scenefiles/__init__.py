"""Scene files: found by name or path, their options, and errors in their code."""
