"""What is asked of arguments: numbers, arrays, attributes, and the sizes that files may have."""
