"""The vispy scene: layouts, cubes, spheres, and what is drawn around them, from frame data."""
