"""How fast ranks sum up a message, by its size and the way they do it."""
