"""What a user can do to a training and its picture, independent of a toolkit."""
