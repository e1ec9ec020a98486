"""`python -m experiments.batch_augmentation`: validation error by the number of instances of each sample."""

from __future__ import annotations

from experiments.batch_augmentation.running import PARTS, run
from experiments.batch_augmentation.showing import show
from experiments.study import study_command

main = study_command(__file__, run, show, PARTS)

if __name__ == "__main__":
    main()
