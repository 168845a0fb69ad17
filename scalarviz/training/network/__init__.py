"""Network, compiled Expression and gradcheck."""
