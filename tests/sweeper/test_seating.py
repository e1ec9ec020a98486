"""What can never be seated is refused before anything is recorded."""

from __future__ import annotations

import pytest

from sweeper.errors import SeatingError
from sweeper.gangs.base import Capacity, Seats
from sweeper.plan import plan
from sweeper.seating import check_seating
from sweeper.spec import parse_spec
from sweeper.trial import TrialSpec


def trials(workers: list[int], **resources: int) -> list[TrialSpec]:
    return plan(parse_spec({"name": "seats", "space": {"workers": workers}, "resources": resources}))


def test_what_fits_one_host_is_seated() -> None:
    check_seating(trials([1, 2, 4]), Capacity((Seats(1), Seats(4))))


@pytest.mark.parametrize(
    ("workers", "resources", "hosts", "message"),
    [
        ([1, 4, 8], {}, [Seats(2)], "4, 8 cannot be seated: a worker takes 1 CPU, and the largest host has 2 CPUs; "),
        ([2], {"cpus_per_worker": 3}, [Seats(4)], "keep to at most 1 workers, or change resources"),
        ([3], {}, [Seats(2), Seats(2)], "3 cannot be seated"),
        ([2], {"gpus_per_worker": 1}, [Seats(8, 1)], "1 CPU and 1 GPU, and the largest host has 8 CPUs and 1 GPUs"),
        ([1], {"gpus_per_worker": 1}, [Seats(8)], "ask for less per worker, or change resources"),
        ([1], {}, [], "the largest host has 0 CPUs"),
    ],
)
def test_what_fits_no_host_is_refused(
    workers: list[int], resources: dict[str, int], hosts: list[Seats], message: str
) -> None:
    with pytest.raises(SeatingError, match=r"^space\.workers: ") as refused:
        check_seating(trials(workers, **resources), Capacity(tuple(hosts)))
    assert message in str(refused.value)
