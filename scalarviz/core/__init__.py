"""The core: formulas, scalars that track their gradient, the parameter bank, layers."""
