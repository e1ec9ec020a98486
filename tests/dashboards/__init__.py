"""Tests of the tables, the figures and the `plot` command."""
