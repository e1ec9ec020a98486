"""`python -m experiments.exchange_phases`: the operations of each exchange on 1 to 8 ranks, dummy and in training."""

from __future__ import annotations

from experiments.exchange_phases.running import PARTS, run
from experiments.exchange_phases.showing import show
from experiments.study import study_command

main = study_command(__file__, run, show, PARTS)

if __name__ == "__main__":
    main()
