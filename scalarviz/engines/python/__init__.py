"""The python engine: the objects themselves, slow and readable."""
