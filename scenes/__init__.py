"""Scenes: one file each, run as a script or by name (`scalarviz watch rgb`)."""
