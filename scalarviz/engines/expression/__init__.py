"""Engines of compiled expressions: they run a trace of scalar operations on batches."""
