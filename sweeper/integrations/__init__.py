"""The exact area bound for people who sweep with other tools; each module needs its tool, and nothing loads them."""
