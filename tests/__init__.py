"""Tests; the folders mirror the code."""
