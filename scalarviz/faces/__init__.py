"""User interfaces: the window, notebooks, pages in a browser, the command line."""
