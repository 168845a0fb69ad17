"""Engines of compiled functions, which run a recorded trace of scalar operations on batches."""
