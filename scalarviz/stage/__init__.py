"""From a session to a picture: its stage, motion, pointing, exhibits, and rendered files."""
