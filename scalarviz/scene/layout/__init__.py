"""Geometry of the scene: plates, layouts, wires and the camera."""
