"""What people use: the window, notebooks, the terminal, the command line."""
