"""The pages of trials: a sweep's list, and one of them."""
