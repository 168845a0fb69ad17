"""Foundations of all other packages: errors, texts, checks of arguments, processes."""

__version__ = "0.3.0.dev0"
