"""The pages of sweeps: the list, one of them, two side by side."""
