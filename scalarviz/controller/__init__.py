"""All that a user can do to a training and its picture, without any toolkit."""
