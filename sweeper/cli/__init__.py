"""The command line: one command a file, each parses, makes one call of the library, and formats the answer."""
