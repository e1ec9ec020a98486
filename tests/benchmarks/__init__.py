"""Tests of what benchmarks measure with."""
