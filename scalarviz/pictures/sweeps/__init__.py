"""A sweep becomes a picture: curves, panels and small pictures of its runs."""
