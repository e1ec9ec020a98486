"""`python -m experiments.cifar10_sweep`: the paper's sweep on CIFAR-10, also pruned, beside what was published."""

from __future__ import annotations

from experiments.cifar10_sweep.running import PARTS, run
from experiments.cifar10_sweep.showing import show
from experiments.study import study_command

main = study_command(__file__, run, show, PARTS)

if __name__ == "__main__":
    main()
