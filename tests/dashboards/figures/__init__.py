"""Tests of the figures: what they decide to show, not their pixels."""
