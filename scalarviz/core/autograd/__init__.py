"""Scalar automatic differentiation: `Value`, and the graph of the operations that made it."""
