"""`python -m experiments.single_neuron`: does the loss come down slower, and with less noise, on more workers?"""

from __future__ import annotations

from experiments.single_neuron.running import PARTS, run
from experiments.single_neuron.showing import show
from experiments.study import study_command

main = study_command(__file__, run, show, PARTS)

if __name__ == "__main__":
    main()
