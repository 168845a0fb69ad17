"""What people use: the window, notebooks, pages in a browser, the command line."""
