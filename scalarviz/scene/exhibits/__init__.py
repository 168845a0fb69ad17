"""Panels that show what a network has learned (exhibits)."""
