"""Tests that are right at any rank count: run plainly, and under mpiexec by tests/test_parallel.py."""
