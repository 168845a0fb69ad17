"""Flat drawing: colours, themes, fonts, and shapes that are drawn together."""
