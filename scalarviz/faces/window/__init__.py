"""The desktop window, in Qt."""
