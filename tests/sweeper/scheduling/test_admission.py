"""What can never be seated is refused before anything is recorded."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sweeper.errors import SeatingError
from sweeper.gangs.seats import Capacity, Seats
from sweeper.plan import plan
from sweeper.plan.trial import TrialSpec
from sweeper.scheduling.admission import Admission, check_seating, seats_for
from sweeper.spec import parse_spec
from sweeper.store.store import Store
from tests.dashboards.sweeps import submit


def trials(workers: list[int], **resources: int) -> Sequence[TrialSpec]:
    return plan(parse_spec({"name": "seats", "space": {"workers": workers}, "resources": resources}))


def test_what_fits_on_the_hosts_is_seated() -> None:
    check_seating(trials([1, 2, 4, 5]), Capacity((Seats(1), Seats(4))))


@pytest.mark.parametrize(
    ("workers", "resources", "hosts", "message"),
    [
        ([1, 4, 8], {}, [Seats(2)], "4, 8 cannot be seated: a worker takes 1 CPU, and the largest host has 2 CPUs; "),
        (
            [2],
            {"cpus_per_worker": 3},
            [Seats(4)],
            "at most 1 worker, or change resources, or let workers share cores",
        ),
        ([5], {}, [Seats(2), Seats(2)], "has 2 CPUs: 4 workers fit on 2 hosts together; keep to at most 4"),
        ([3], {"cpus_per_worker": 2}, [Seats(3), Seats(3)], "keep to at most 2 workers"),
        ([2], {"gpus_per_worker": 1}, [Seats(8, 1)], "1 CPU and 1 GPU, and the largest host has 8 CPUs and 1 GPU"),
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


@pytest.mark.parametrize(
    ("workers", "resources", "hosts"),
    [([3], {}, [Seats(2)]), ([4], {"gpus_per_worker": 1}, [Seats(16), Seats(2, 1)]), ([2], {}, [Seats(4)])],
)
def test_what_shares_needs_a_core_and_for_gpus_a_gpu(
    workers: list[int], resources: dict[str, int], hosts: list[Seats]
) -> None:
    check_seating(trials(workers, **resources), Capacity(tuple(hosts)), oversubscribe=True)
    with pytest.raises(SeatingError, match=r"ask for less per worker, or change resources$"):
        check_seating(trials([1], gpus_per_worker=1), Capacity((Seats(8),)), oversubscribe=True)


@pytest.mark.parametrize(
    ("shape", "hosts", "seats"),
    [
        ((2, 1, 0), [Seats(4)], Seats(2)),
        ((8, 1, 0), [Seats(2), Seats(4)], Seats(4)),
        ((4, 2, 1), [Seats(32), Seats(8, 2), Seats(6, 3)], Seats(8, 4)),
        ((6, 2, 1), [Seats(32), Seats(8, 2), Seats(6, 3)], Seats(6, 3)),
    ],
)
def test_who_shares_gets_what_the_best_host_has(shape: tuple[int, int, int], hosts: list[Seats], seats: Seats) -> None:
    assert seats_for(shape, Capacity(tuple(hosts)), oversubscribe=True) == seats


def test_no_trial_begins_beside_one_whose_seats_are_lent(store: Store) -> None:
    sweep_id = submit(store, {"workers": [2], "learning_rate": [0.1, 0.2]})
    first, second = store.trials.of(sweep_id)
    admission = Admission(Capacity((Seats(2), Seats(2))), one_at_a_time=True)
    admission.begin(first)
    admission.lend(first)
    assert admission.is_full()
    assert not admission.fits(second.waits)
    admission.end(first.id)
    assert admission.fits(second.waits)
