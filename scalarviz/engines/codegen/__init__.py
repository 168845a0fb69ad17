"""Generation of kernel files from the tables of formulas, compiled once and cached on disk."""
