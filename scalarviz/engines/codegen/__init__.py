"""From the tables of formulas to a file of kernels, compiled once and kept on disk."""
