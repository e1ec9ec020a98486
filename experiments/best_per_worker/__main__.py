"""`python -m experiments.best_per_worker`: the winners trained on, and how fast today's recipe gets as far."""

from __future__ import annotations

from experiments.best_per_worker.running import PARTS, run
from experiments.best_per_worker.showing import show
from experiments.study import study_command

main = study_command(__file__, run, show, PARTS)

if __name__ == "__main__":
    main()
