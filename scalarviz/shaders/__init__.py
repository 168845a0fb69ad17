"""A network as the source of a shader."""
