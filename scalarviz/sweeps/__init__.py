"""Sweeps: train many settings with many seeds, in this process, in a pool or on a cluster."""
