"""The 3D scene drawn with vispy: layouts, cubes, spheres and annotations, built from frame data."""
