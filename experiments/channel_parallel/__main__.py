"""`python -m experiments.channel_parallel`: how single convolutions scale, and plans for many workers."""

from __future__ import annotations

from experiments.channel_parallel.running import PARTS, run
from experiments.channel_parallel.showing import show
from experiments.study import study_command

main = study_command(__file__, run, show, PARTS)

if __name__ == "__main__":
    main()
