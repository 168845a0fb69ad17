"""Networks, and the session that trains them and can step backward in time."""
