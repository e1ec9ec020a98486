"""What is asked of SLURM follows from the spec's worker counts; what cannot fit is rejected in one line."""

from __future__ import annotations

from typing import Any

import pytest

from sweeper.errors import SweeperError
from sweeper.slurm import Wishes, smallest_allocation
from sweeper.slurm.allocation import seconds_of
from sweeper.spec import SweepSpec, parse_spec


def spec_of(workers: Any, cpus: int = 1, gpus: int = 0, **more: Any) -> SweepSpec:
    trial = {"model": "neuron", "data": "step-function", "images": 2000}
    space = {"workers": workers, "batch_size": [10], "learning_rate": [0.1]}
    resources = {"cpus_per_worker": cpus, "gpus_per_worker": gpus}
    return parse_spec({"name": "small", "trial": trial, "space": space, "resources": resources, **more})


@pytest.mark.parametrize(
    ("spec", "cpus", "gpus"),
    [
        (spec_of([1, 2, 8]), 8, 0),
        (spec_of([1, 3], cpus=4), 12, 0),
        (spec_of([2, 4], cpus=2, gpus=1), 8, 4),
        (spec_of({"low": 1, "high": 6, "step": 1}, search={"method": "random", "trials": 6}), 6, 0),
    ],
)
def test_a_node_has_room_for_the_largest_gang(spec: SweepSpec, cpus: int, gpus: int) -> None:
    allocation = smallest_allocation(spec, Wishes())
    assert (allocation.nodes, allocation.cpus_per_node, allocation.gpus_per_node) == (1, cpus, gpus)


def test_more_than_the_smallest_is_given_where_it_is_asked_for() -> None:
    allocation = smallest_allocation(spec_of([1, 2]), Wishes(nodes=3, cpus_per_node=16, gpus_per_node=2))
    assert (allocation.nodes, allocation.cpus_per_node, allocation.gpus_per_node) == (3, 16, 2)


@pytest.mark.parametrize(
    ("spec", "wishes", "message", "remedy"),
    [
        (spec_of([1, 2, 8]), Wishes(cpus_per_node=4), "space.workers: 8 cannot", "--cpus-per-node 8, or keep to at mo"),
        (spec_of([2, 4], gpus=1), Wishes(gpus_per_node=2), "and --gpus-per-node gives 2", "at most 2 workers"),
        (spec_of([2, 4], cpus=2), Wishes(cpus_per_node=2), "2, 4 cannot be seated", "8, or ask for less per worker"),
        (spec_of([1]), Wishes(time="soon"), "--time: SLURM does not know the time 'soon'", "1:30:00"),
        (spec_of([1]), Wishes(time="1"), "--time: '1' is 60 seconds", "5 minutes"),
        (spec_of([1]), Wishes(time="2"), "--time: '2' is 120 seconds", "5 minutes"),
        (spec_of([1]), Wishes(time="10\n#SBATCH --exclusive"), "--time: ", "minutes"),
        (spec_of([1]), Wishes(partition="big one"), "--partition: 'big one'", "sinfo"),
        (spec_of([1]), Wishes(account="a\nrm"), "--account: 'a\\nrm'", "sacctmgr"),
    ],
)
def test_what_cannot_be_had_is_rejected(spec: SweepSpec, wishes: Wishes, message: str, remedy: str) -> None:
    with pytest.raises(SweeperError) as caught:
        smallest_allocation(spec, wishes)
    assert message in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("5", 300), ("5:30", 330), ("1:00:05", 3605), ("1-0", 86400), ("1-2:30", 95400), ("2-0:0:9", 172809)],
)
def test_times_are_read_as_slurm_reads_them(time: str, seconds: int) -> None:
    assert seconds_of(time) == seconds
