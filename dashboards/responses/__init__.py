"""What every answer of the service shares: JSON, the one shape of errors, and lists page by page."""
