"""Searches that learn, run to their end in virtual time on made-up areas: real studies, no training."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sweeper.guides import Guide
from sweeper.guides.sampled import ProposingGuide
from sweeper.guides.samplers import first_points
from sweeper.plan import plan
from sweeper.plan.making import with_seed
from sweeper.plan.trial import TrialSpec, TrialState
from sweeper.ranking import Candidate
from sweeper.spec import SweepSpec, parse_spec

SPACE = {
    "learning_rate": {"low": 0.001, "high": 1, "log": True},
    "batch_size": [16, 32, 64, 128, 256],
    "fc": ["fused", "torch"],
    "workers": [1, 2],
}
THRESHOLD = 1.0


def searched(search: Any, trials: int, space: Any = None, **fields: Any) -> SweepSpec:
    objective = {"threshold": THRESHOLD, "over": "images"}
    return parse_spec(
        {"name": "s", "space": space or SPACE, "objective": objective, "search": search, "trials": trials} | fields
    )


def result(spec: TrialSpec) -> Candidate:
    """A bowl around a rate of 0.1 and a batch of 64, twice as deep for two workers; what is far off never qualifies."""
    values = spec.parameters
    off = math.log10(values["learning_rate"] / 0.1) ** 2 + 0.1 * math.log2(values["batch_size"] / 64) ** 2
    off += 0.3 * (values.get("fc") == "torch")
    area, loss = 100 * math.exp(off) / spec.workers, 0.5 + off / 2
    state = TrialState.DIVERGED if values["learning_rate"] > 0.8 else TrialState.COMPLETED
    finite = state is TrialState.COMPLETED
    return Candidate(spec.key, dict(values), state, finite, area if finite else None, loss, 1.0, 61_440)


def waiting(spec: TrialSpec, state: TrialState = TrialState.RUNNING) -> Candidate:
    return Candidate(spec.key, dict(spec.parameters), state, True, None, None)


@pytest.mark.parametrize(
    ("trial", "images"),
    [({}, 61_440), ({"images": 5_000}, 5_000), ({"epochs": 2, "data": "digits"}, 2_994), ({"steps": 10}, 1_280)],
)
def test_it_knows_the_images_of_a_whole_run(trial: dict[str, Any], images: int) -> None:
    spec = searched("random", 2, trial=trial)
    candidate = Candidate("t", {"workers": 2, "batch_size": 64}, TrialState.PRUNED, True, 1.0, 1.0)
    assert ProposingGuide(Guide(), spec, [])._images(candidate) == images


def search(
    spec: SweepSpec, together: int = 3, seed: int = 0, result: Callable[[TrialSpec], Candidate] = result
) -> list[TrialSpec]:
    """The sweep with so many trials at once, which end in a random order; all its trials as they were added."""
    order, queue = random.Random(seed), list(plan(spec, first_points))
    guide = ProposingGuide(Guide(), spec, [waiting(trial, TrialState.PENDING) for trial in queue])
    added, running = list(queue), [queue.pop(0) for _ in range(min(together, len(queue)))]
    while running:
        ended = running.pop(order.randrange(len(running)))
        guide.learn([result(ended)])
        if not queue:
            queue += guide.propose()
            added += queue
            guide.learn([waiting(trial, TrialState.PENDING) for trial in queue])
        running += queue[:1]
        guide.learn([waiting(trial) for trial in queue[:1]])
        queue = queue[1:]
    return added


def kinds(spec: TrialSpec) -> Candidate:
    """A rate counts only for "step", and is best at 0.1."""
    values = spec.parameters
    off = 0.2 if values["schedule.kind"] != "step" else math.log10(values["schedule.factor"] / 0.1) ** 2
    return Candidate(spec.key, dict(values), TrialState.COMPLETED, True, 100 * math.exp(off), 0.5, 1.0, 61_440)


METHODS = ["tpe", "gp", "cma-es", {"method": "tpe", "study": "shared"}, {"method": "gp", "study": "shared"}]


@pytest.mark.parametrize("method", METHODS)
def test_each_group_gets_its_share_of_different_points_and_comes_near_the_best(method: Any) -> None:
    name = method if isinstance(method, str) else method["method"]
    number = {"gp": 24, "cma-es": 80}.get(name, 40)  # the first takes a second for each, the last learns late
    spec = searched(method, number)
    trials = search(spec)
    assert len(trials) == len({trial.key for trial in trials}) == number
    assert Counter(trial.workers for trial in trials) == {1: number // 2, 2: number // 2}
    first = len(plan(spec, first_points)) // 2
    for workers in (1, 2):
        areas = [result(t).area or math.inf for t in trials if t.workers == workers]
        known, learnt = areas[:first], areas[first:]
        assert min(learnt) < 1.5 * 100 / workers
        assert min(learnt) <= min(known)


def test_the_same_seed_gives_the_same_trials_and_another_one_others() -> None:
    assert search(searched("tpe", 20)) == search(searched("tpe", 20))
    assert search(searched("tpe", 20)) != search(searched({"method": "tpe", "seed": 1}, 20))


@pytest.mark.parametrize("method", ["tpe", "cma-es"])
def test_what_is_rebuilt_from_the_store_goes_on_the_same_way(method: str) -> None:
    spec = searched(method, 20)
    trials = search(spec)
    known = [result(trial) for trial in trials[:15]]
    one, other = (ProposingGuide(Guide(), spec, known) for _ in range(2))
    assert [trial.key for trial in one.propose()] == [trial.key for trial in other.propose()]
    more = ProposingGuide(Guide(), spec, [*known, waiting(trials[15])])
    assert {t.key for t in more.propose()}.isdisjoint({c.trial for c in known} | {trials[15].key})


def test_no_more_are_proposed_than_the_sweep_may_have() -> None:
    spec = searched("tpe", 6)
    trials = search(spec)
    others = [result(trial)._replace(trial=f"x{number}") for number, trial in enumerate(trials)]
    assert ProposingGuide(Guide(), spec, others).propose() == ()
    assert ProposingGuide(Guide(), spec, [*others[:5]]).propose() != ()


@pytest.mark.parametrize("method", ["tpe", "gp", {"method": "tpe", "study": "shared"}])
def test_a_space_of_few_points_is_used_to_its_end(method: Any) -> None:
    space = {"learning_rate": [0.01, 0.1, 0.2], "batch_size": [16, 64], "workers": [1, 2]}
    trials = search(searched(method, 12, space))
    assert len({trial.key for trial in trials}) == 12


def test_repeats_are_proposed_together_and_count_as_one_point() -> None:
    trials = search(searched("tpe", 24, repeats=2))
    assert len(trials) == 24
    points = Counter(
        (t.workers, t.parameters["learning_rate"], t.parameters["batch_size"], t.parameters["fc"]) for t in trials
    )
    assert list(points.values()) == [2] * 12
    assert {t.parameters["seed"] for t in trials} == {0, 1}


def unlucky(spec: SweepSpec, candidates: Sequence[Candidate]) -> Sequence[TrialSpec]:
    return ProposingGuide(Guide(), spec, candidates).propose()


@pytest.mark.parametrize("state", [TrialState.DIVERGED, TrialState.FAILED, TrialState.PRUNED, TrialState.CANCELLED])
@pytest.mark.parametrize("method", METHODS)
def test_it_goes_on_where_nothing_has_gone_well(method: Any, state: TrialState) -> None:
    spec = searched(method, 40)
    planned = plan(spec, first_points)
    known = [waiting(trial, state)._replace(finite=state is not TrialState.DIVERGED) for trial in planned]
    assert len(unlucky(spec, known)) == 1
    nothing = [waiting(trial, TrialState.COMPLETED)._replace(area=1.0, minimum_loss=math.nan) for trial in planned]
    assert len(unlucky(spec, nothing)) == 1


def test_trials_from_outside_of_the_space_disturb_nobody() -> None:
    spec = searched("tpe", 20)
    known = [result(trial) for trial in plan(spec, first_points)]
    strange = known[0]._replace(trial="strange", parameters={**known[0].parameters, "batch_size": 7, "workers": 5})
    assert len(unlucky(spec, [*known, strange])) == 1


@pytest.mark.parametrize(
    "method", ["tpe", "cma-es", METHODS[3], *(pytest.param(METHODS[place], marks=pytest.mark.long) for place in (1, 4))]
)
def test_a_field_that_only_some_trials_have_is_learnt_from_those(method: Any) -> None:
    space = {
        "schedule.kind": ["constant", "step"],
        "schedule.factor": {"low": 0.001, "high": 1, "log": True, "when": {"schedule.kind": "step"}},
        "learning_rate": {"low": 0.1, "high": 1},
    }
    trials = search(searched(method, 24, space), result=kinds)
    assert len({trial.key for trial in trials}) == 24
    for trial in trials:
        assert (trial.parameters["schedule.factor"] is None) == (trial.parameters["schedule.kind"] == "constant")
    late = [t.parameters["schedule.factor"] for t in trials[12:] if t.parameters["schedule.kind"] == "step"]
    if method in ("tpe", METHODS[3]):
        assert any(0.03 < factor < 0.3 for factor in late)


def test_seeds_that_were_added_later_do_not_spend_the_trials_of_a_search() -> None:
    spec = searched("random", 4)
    first, *_ = plan(spec, first_points)
    known = [result(first), *(result(with_seed(first, seed)) for seed in (1, 2, 3, 4))]
    guide = ProposingGuide(Guide(), spec, known)
    proposed: list[TrialSpec] = []
    while new := guide.propose():
        proposed += new
        guide.learn([result(trial) for trial in new])
    assert len(proposed) == 3
