"""The engines, which run a program: python, cpu and cuda, and shared code."""
