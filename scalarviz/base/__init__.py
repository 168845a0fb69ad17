"""What every other folder stands on: errors, texts, checks of arguments, processes."""

__version__ = "0.2.0"
