"""Gangs over several hosts, tested on one machine: each host is a network namespace with a raylet of its own."""
