"""The kernels of the cpu engine as WebAssembly, for pages that train without Python."""
