"""What a picture says in words."""
