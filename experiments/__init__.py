"""Studies: what this system is for, run on real data and hardware, each compared with what was published.

A folder is a study: its specs, a README with question, result, hardware and number of runs, the recorded result, and
the figures drawn from it. `python -m experiments.NAME --redraw` makes tables and figures of the recorded result.
"""
