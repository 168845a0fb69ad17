"""2D drawing: colours, themes, fonts, a canvas of flat shapes, and its OpenGL renderer."""
