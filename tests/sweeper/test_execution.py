"""What the ways of starting a sweep share: trials that are run again. Real gangs, where any start."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from sweeper.errors import NotFoundError, SeatingError
from sweeper.execution import Execution, Rerun, rerun_sweep
from sweeper.live_view import silent
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.scheduling.observer import Audience
from sweeper.spec import parse_spec
from sweeper.store import Store, SweepRecord, TrialRecord

HERE = Execution("local", None, finish_running=False, oversubscribe=False)
PROGRAM = """
for step in 1 2 3 4; do echo '{"sweeper":{"loss":8}}'; done
sleep 600; : {loss}"""
TOO_MANY = len(os.sched_getaffinity(0)) + 1


def submit(
    store: Store, program: str, space: dict[str, list[int]], *, only_last: bool = False, **others: Any
) -> list[TrialRecord]:
    """A sweep over a program, whose trials are complete and shared cores, or only the last; losses are its `loss`."""
    trial = {"command": ["sh", "-c", program]}
    written = {"name": "s", "trial": trial, "space": space, "objective": {"threshold": 9, "over": "steps"}, **others}
    spec = parse_spec(written)
    sweep = store.sweeps.add(spec, plan(spec))
    trials = store.trials.of(sweep)
    for trial_of in trials:
        points = [LossPoint(n, None, n / 10, float(trial_of.parameters.get("loss", 1))) for n in range(1, 5)]
        attempt, shared = store.attempts.claim(trial_of.id) or 0, not only_last or trial_of is trials[-1]
        store.attempts.add_points(trial_of.id, attempt, points)
        end = (TrialState.COMPLETED, summarize(points))
        store.attempts.finish(trial_of.id, attempt, *end, oversubscribed=shared)
    return store.trials.of(sweep)


def rerun(store: Store, sweep: str, audience: Audience | None = None) -> Rerun:
    return rerun_sweep(store, sweep, HERE, audience or silent(), failed=False, oversubscribed=True)


def test_a_rerun_that_cannot_begin_leaves_what_another_one_has_put_back(store: Store) -> None:
    others, own = submit(store, "true", {"workers": [1, TOO_MANY]})
    store.sweeps.repeat_oversubscribed(others.sweep_id, [others.id])
    with pytest.raises(SeatingError):
        rerun(store, own.sweep_id)
    assert [trial.state for trial in store.trials.of(own.sweep_id)] == [TrialState.PENDING, TrialState.COMPLETED]


def test_a_rerun_that_is_interrupted_restores_what_it_put_back_and_nothing_else(store: Store) -> None:
    others, own = submit(store, "true {loss}", {"loss": [1, 2]})
    store.sweeps.repeat_oversubscribed(others.sweep_id, [others.id])
    lines: list[str] = []

    def interrupted(_: SweepRecord, trials: Sequence[TrialRecord]) -> NoReturn:
        assert [trial.state for trial in trials] == [TrialState.PENDING, TrialState.PENDING]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rerun(store, own.sweep_id, Audience(lines.append, interrupted))
    assert lines[-1] == "trials that were to be repeated keep their old results"
    assert store.trials.find(others.id).state is TrialState.PENDING
    assert store.trials.find(own.id) == own


@pytest.mark.parametrize(
    ("repeats", "attempts"), [(1, ["completed", "pruned"]), (2, ["completed"])], ids=["pruned", "given up"]
)
def test_a_repetition_that_can_win_no_more_is_no_failure(
    store: Store, repeats: int, attempts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = PROGRAM + (" {seed}" if repeats > 1 else "")
    *_, worst = submit(store, program, {"loss": [1, 8]}, only_last=True, prune="area", repeats=repeats)
    assert (worst.parameters["loss"], worst.oversubscribed) == (8, True)
    done = rerun(store, worst.sweep_id)
    assert (done.to_repeat, done.beaten, done.unfinished) == (1, 1, 0)
    assert store.trials.find(worst.id) == worst
    assert [one.state for one in store.attempts.of(worst.id)] == attempts


def test_a_repetition_that_fails_is_unfinished(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (trial,) = submit(store, "exit 3", {"workers": [1]})
    done = rerun(store, trial.sweep_id)
    assert (done.to_repeat, done.beaten, done.unfinished) == (1, 0, 1)
    assert store.trials.find(trial.id) == trial


def test_nothing_to_run_again_is_an_error_that_changes_nothing(store: Store) -> None:
    trials = submit(store, "true", {"workers": [1]})
    with pytest.raises(NotFoundError, match="no trial of it has failed"):
        rerun_sweep(store, trials[0].sweep_id, HERE, silent(), failed=True, oversubscribed=False)
    assert store.trials.of(trials[0].sweep_id) == trials
