"""Checks of arguments: numbers, arrays, attribute names, and the sizes that files may have."""
