"""How objects draw themselves in a notebook: SVG drawings and tables."""
