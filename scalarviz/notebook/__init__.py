"""What is shown in notebooks: a training that is seen and taken in hand, and predictions."""
