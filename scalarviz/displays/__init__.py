"""What a notebook shows of an object: small pictures and tables, made of its own numbers."""
