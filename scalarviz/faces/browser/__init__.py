"""The face in a browser: a page whose training is a session in Python, behind a link."""
