"""Networks, and the session that trains them: a clock that also runs backwards."""
