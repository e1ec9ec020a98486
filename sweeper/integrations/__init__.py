"""The exact area bound for users of Optuna and Ray Tune; each module needs its tool, and nothing here imports them."""
