"""What is decided about split networks without ranks."""
