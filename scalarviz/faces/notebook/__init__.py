"""Pages of sessions, pictures that follow them, and predictions in notebooks."""
