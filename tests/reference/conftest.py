"""The files here are run by hand: they need PyTorch, which the tests do without."""

collect_ignore_glob = ["*.py"]
