"""Sweeps: many settings, each under many seeds, trained here, in processes or on a cluster."""
