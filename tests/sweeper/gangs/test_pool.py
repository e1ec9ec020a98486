"""Which gang serves a job and which leaves for it, without any gang: names stand for them."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from sweeper.gangs.base import Job
from sweeper.gangs.pool import GangPool
from sweeper.gangs.seats import Capacity, Seats

HERE = Capacity((Seats(4),))
SCATTERED = Capacity((Seats(2), Seats(2)))


def job(trial: str, workers: int = 1, cpus: int = 1, **more: dict[str, object]) -> Job:
    return Job(trial, 1, workers, cpus, 0, more.get("config", {}), "")


def opened(pool: GangPool[str], trial: str, workers: int = 1, capacity: Capacity = HERE) -> str:
    """A gang named after its first job, which it serves."""
    assert pool.make_room(job(trial, workers), capacity) == []
    assert pool.opened(job(trial, workers), trial)
    return trial


def idle(pool: GangPool[str], trial: str, workers: int = 1) -> str:
    gang = opened(pool, trial, workers)
    assert pool.finished(trial, reusable=True)
    return gang


def test_an_idle_gang_serves_the_next_job_of_its_shape() -> None:
    pool = GangPool[str]()
    gang = idle(pool, "a", workers=2)
    assert pool.take_idle(job("b", workers=1)) is None
    assert pool.take_idle(job("b", workers=2, cpus=2)) is None
    assert pool.take_idle(job("b", workers=2)) == gang
    assert pool.busy == [gang]
    assert pool.take_idle(job("c", workers=2)) is None


def test_a_gang_keeps_its_algorithm_of_nccl() -> None:
    pool = GangPool[str]()
    gang = idle(pool, "a")
    assert pool.take_idle(job("b", config={"exchange": {"algorithm": "ring"}})) is None
    assert pool.take_idle(job("c", config={"exchange": {"algorithm": "auto"}})) == gang


def test_a_command_gets_a_gang_of_its_own() -> None:
    pool = GangPool[str]()
    idle(pool, "a")
    assert pool.take_idle(job("b", config={"command": ["true"]})) is None


def test_the_longest_idle_leave_first_and_no_more_than_are_needed() -> None:
    pool = GangPool[str]()
    for name in "abc":
        opened(pool, name)
    for name in "bca":
        pool.finished(name, reusable=True)
    assert pool.make_room(job("wide", workers=3), HERE) == ["b", "c"]
    assert pool.leaving == 2
    pool.left("b")
    pool.left("c")
    assert pool.leaving == 0
    assert pool.take_idle(job("next")) == "a"


def test_a_gang_that_another_job_waits_for_holds_its_seats_already() -> None:
    pool = GangPool[str]()
    idle(pool, "a", workers=2)
    assert pool.make_room(job("b"), HERE) == []
    assert pool.make_room(job("c"), HERE) == []
    assert pool.make_room(job("d"), HERE) == ["a"]


def test_a_job_that_is_given_up_leaves_its_seats_to_others() -> None:
    pool = GangPool[str]()
    idle(pool, "a", workers=2)
    pool.make_room(job("b", workers=2), HERE)
    pool.forget("b")
    assert pool.make_room(job("c", workers=2), HERE) == []


def test_where_seats_are_scattered_all_idle_gangs_leave() -> None:
    pool = GangPool[str]()
    for name in "abc":
        opened(pool, name, capacity=SCATTERED)
    pool.finished("a", reusable=True)
    pool.finished("b", reusable=True)
    assert pool.make_room(job("wide", workers=2), SCATTERED) == ["a", "b"]
    assert not pool.finished("c", reusable=True)  # "wide" may wait for just these


def test_a_gang_that_cannot_be_used_again_leaves() -> None:
    pool = GangPool[str]()
    opened(pool, "a")
    assert not pool.finished("a", reusable=False)
    assert pool.leaving == 1
    assert pool.take_idle(job("b")) is None


def test_a_waiting_job_can_be_stopped_and_then_tried_again() -> None:
    pool = GangPool[str]()
    pool.make_room(job("a"), HERE)
    assert pool.is_wanted("a")
    assert pool.stop("a") is None
    assert not pool.is_wanted("a")
    pool.forget("a")
    opened(pool, "a")
    assert pool.stop("a") == "a"
    assert pool.stop("unknown") is None


def test_nothing_opens_or_stays_in_a_closed_pool() -> None:
    pool = GangPool[str]()
    idle(pool, "a")
    opened(pool, "b", workers=2)
    pool.make_room(job("c"), HERE)
    assert pool.close() == ["a"]
    assert pool.busy == ["b"]
    assert not pool.is_wanted("c")
    assert not pool.opened(job("c"), "c")
    assert not pool.finished("b", reusable=True)
    for gang in "abc":
        pool.left(gang)
    assert pool.leaving == 0


class AnyOrder(RuleBasedStateMachine):
    """Jobs of any shape that begin and end in any order, and never ask for more than there is."""

    waiting, serving = Bundle("waiting"), Bundle("serving")

    def __init__(self) -> None:
        super().__init__()
        self.pool = GangPool[str]()
        self.begun = 0
        self.running: dict[str, int] = {}  # cores of each job that waits or is served
        self.gangs: dict[str, int] = {}  # cores of each gang that has not begun to leave

    @rule(target=waiting, workers=st.integers(1, 4))
    def begin(self, workers: int) -> object:
        if sum(self.running.values()) + workers > 4:
            return multiple()
        self.begun += 1
        new = job(f"job {self.begun}", workers)
        self.running[new.trial_id] = workers
        if (gang := self.pool.take_idle(new)) is not None:
            assert self.gangs[gang] == workers
            self.pool.finished(new.trial_id, reusable=True)
            del self.running[new.trial_id]
            return multiple()
        for gang in self.pool.make_room(new, HERE):
            del self.gangs[gang]
            self.pool.left(gang)
        return new

    @rule(target=serving, new=consumes(waiting))
    def open(self, new: Job) -> Job:
        assert self.pool.opened(new, new.trial_id)
        self.gangs[new.trial_id] = new.workers
        return new

    @rule(served=consumes(serving), reusable=st.booleans())
    def finish(self, served: Job, reusable: bool) -> None:
        del self.running[served.trial_id]
        if not self.pool.finished(served.trial_id, reusable=reusable):
            del self.gangs[served.trial_id]
            self.pool.left(served.trial_id)

    @rule(new=consumes(waiting))
    def give_up(self, new: Job) -> None:
        self.pool.forget(new.trial_id)
        del self.running[new.trial_id]

    @invariant()
    def gangs_and_those_that_open_fit(self) -> None:
        opening = sum(cores for trial, cores in self.running.items() if trial not in self.gangs)
        assert sum(self.gangs.values()) + opening <= 4


TestAnyOrder = AnyOrder.TestCase
