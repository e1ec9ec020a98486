"""The command line: one file for each command, which parses, makes one call of the library and prints the answer."""
