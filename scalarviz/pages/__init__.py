"""A page that trains: one HTML file with the kernels, the picture and the texts of a session."""
