"""The answers about a sweep, as plain values that the command line, the API, the pages and Python share."""
