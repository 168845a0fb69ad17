"""The command line `scalarviz`."""
