"""Network, compiled Expression and gradcheck: objects with the four verbs and an engine."""
