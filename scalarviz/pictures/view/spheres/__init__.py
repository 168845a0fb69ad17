"""Visuals of a layout's spheres and wires."""
