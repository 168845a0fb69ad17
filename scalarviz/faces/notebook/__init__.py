"""The notebook interface: pages of sessions, and exercises."""
