"""Shared by all answers of the service: JSON, the one shape of errors, and paging."""
