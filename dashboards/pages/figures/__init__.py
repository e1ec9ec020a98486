"""The addresses of figures, for the page's script and for downloads."""
