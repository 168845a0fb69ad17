"""A session becomes a picture: its stage, motion, pointing, exhibits, and pictures in files."""
