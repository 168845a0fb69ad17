"""User actions on a session and its picture, independent of a GUI toolkit."""
