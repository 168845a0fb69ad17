"""The python engine: runs the layer objects themselves; slow and readable."""
