"""What a network consists of: the bank, weights, operations, programs, and how weights move."""
