"""Formulas of the user's own: activations, losses and optimizers, added to the tables by name."""
