"""Compiled expressions: a trace of scalars, run on batches."""
