"""`python -m experiments.all_reduce`: sums over ranks by message size, bare and in training."""

from __future__ import annotations

from experiments.all_reduce.running import PARTS, run
from experiments.all_reduce.showing import show
from experiments.study import study_command

main = study_command(__file__, run, show, PARTS)

if __name__ == "__main__":
    main()
