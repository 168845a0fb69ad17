"""What every other folder stands on: errors, texts, checks of arguments, processes."""
