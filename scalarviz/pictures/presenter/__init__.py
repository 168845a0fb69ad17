"""Turns a session into the frame data of one picture."""
