"""Captions: operations explained with their numbers."""
