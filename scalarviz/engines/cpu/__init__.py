"""The cpu engine: numba kernels on all cores."""
