"""Networks as files: saved bit for bit, loaded with care, exported as shaders and plain arrays."""
