"""Live pictures, controls and predictions in notebooks."""
