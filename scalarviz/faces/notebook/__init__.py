"""Pages of sessions, and predictions, in notebooks."""
