"""Representations of objects in notebooks: SVG drawings and tables."""
