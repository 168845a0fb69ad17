"""User-defined formulas: activations, losses, optimizers and layers, added to tables by name."""
