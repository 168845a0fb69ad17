"""The engines that run a network's program (python, cpu, cuda, wasm), and their shared code."""
