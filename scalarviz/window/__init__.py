"""The desktop window: a face of the controller, in Qt."""
