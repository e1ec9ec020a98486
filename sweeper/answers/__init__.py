"""What a person is told about sweeps, as plain values: the same for the command line, the API, the pages and Python."""
