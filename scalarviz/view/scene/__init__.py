"""The network in space: plates, layouts, wires and the camera."""
