"""`python -m experiments.scaling`: throughput, time and cost of an epoch by the number of workers."""

from __future__ import annotations

from experiments.scaling.running import PARTS, run
from experiments.scaling.showing import show
from experiments.study import study_command

main = study_command(__file__, run, show, PARTS)

if __name__ == "__main__":
    main()
