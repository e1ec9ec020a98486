"""What people look at: tables of a sweep, figures drawn from them, and the `plot` command."""
