"""Web pages that train: one HTML file with the kernels, picture and texts of a session."""
