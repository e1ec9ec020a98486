"""`python -m experiments.costs`: what known networks cost in parameters, memory and operations."""

from __future__ import annotations

from experiments.costs.running import run
from experiments.costs.showing import show
from experiments.study import study_command

main = study_command(__file__, run, show)

if __name__ == "__main__":
    main()
