"""Formulas of users: activations, losses, optimizers and layers, added to the tables by name."""
