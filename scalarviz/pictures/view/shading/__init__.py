"""Networks in fragment shaders, evaluated on a thread with an OpenGL context of its own."""
