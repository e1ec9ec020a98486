"""The compiled operators against what torch offers for the same work."""
