"""Layers split over channels and filters, on every grid that the ranks can be put in."""
