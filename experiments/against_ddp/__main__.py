"""`python -m experiments.against_ddp`: the engine beside DistributedDataParallel, eager and compiled."""

from __future__ import annotations

from experiments.against_ddp.running import PARTS, run
from experiments.against_ddp.showing import show
from experiments.study import study_command

main = study_command(__file__, run, show, PARTS)

if __name__ == "__main__":
    main()
