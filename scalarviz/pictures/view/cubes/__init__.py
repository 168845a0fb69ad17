"""The vispy visual that draws the numbers of a bank as cubes."""
