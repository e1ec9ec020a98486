"""Who may ask the service for what, and how much of it."""
