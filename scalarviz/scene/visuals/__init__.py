"""The vispy visuals of cubes, spheres and wires, and their shaders."""
