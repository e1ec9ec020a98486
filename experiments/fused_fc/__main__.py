"""`python -m experiments.fused_fc`: how near the operators come to what the hardware allows."""

from __future__ import annotations

from experiments.fused_fc.running import PARTS, run
from experiments.fused_fc.showing import show
from experiments.study import study_command

main = study_command(__file__, run, show, PARTS)

if __name__ == "__main__":
    main()
