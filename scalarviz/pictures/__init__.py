"""A training becomes a picture: words, the scene, exhibits, pictures in files."""
