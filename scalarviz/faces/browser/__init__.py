"""The browser interface: a page for a session in Python, connected by a link."""
