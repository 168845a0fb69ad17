"""What has the four verbs and an engine: networks and compiled expressions."""
