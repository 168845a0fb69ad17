"""Exhibits: plots of a network's results."""
