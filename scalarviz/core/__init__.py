"""The idea: formulas, values that track their gradient, the bank of numbers, layers."""
