"""Access to the service: tokens, sessions, and how much each client may ask for."""
