"""A network, and the session that trains it: a clock that runs backwards, too."""
