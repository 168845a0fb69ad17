"""2D drawing: palettes, fonts, a canvas of flat shapes, and its OpenGL renderer."""
