"""The process and its machine: child processes, signals, memory."""
