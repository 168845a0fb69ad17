"""Cubes: one visual for all numbers of a bank."""
