"""The figures of a sweep, the pages and the API of the service, and the commands `plot` and `serve`."""
