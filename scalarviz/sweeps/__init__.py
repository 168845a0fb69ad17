"""Sweeps: many settings, each with many seeds, trained here, in processes or on a cluster."""
