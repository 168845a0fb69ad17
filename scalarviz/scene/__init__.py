"""The vispy scene: layouts, cubes, spheres, and their surroundings, drawn from frame data."""
