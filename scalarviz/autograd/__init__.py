"""Scalars by themselves: `Value`, and the graph of the operations that made it."""
