"""The cuda engine: numba-CUDA kernels on a GPU."""
