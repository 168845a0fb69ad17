"""Generation of kernel files from the formula tables; each is compiled once and cached on disk."""
