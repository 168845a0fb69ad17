"""Exhibits: result plots of networks."""
