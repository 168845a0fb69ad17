"""Notebooks: pages of sessions, and predictions."""
