"""The desktop window: a face of the desk, in Qt."""
