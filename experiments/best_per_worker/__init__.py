"""The best setting of each worker count, trained on: loss and accuracy over time, and today's recipe."""
