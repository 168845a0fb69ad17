"""The scenes: one file each, runnable by itself and by name (`scalarviz watch rgb`)."""
