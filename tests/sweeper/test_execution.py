"""What the ways of starting a sweep share: trials that are run again. Real gangs, where any start."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from sweeper.answers.best import best_answer
from sweeper.answers.derived import derived_lines
from sweeper.errors import NotFoundError, SeatingError
from sweeper.execution import Execution, Rerun, rerun_sweep
from sweeper.live_view import silent
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.scheduling.observer import Audience
from sweeper.spec import parse_spec
from sweeper.store import Store, SweepRecord
from tests.sweeper.shared_trials import LOSES, shared_trials

HERE = Execution("local", None, finish_running=False, oversubscribe=False)
TOO_MANY = len(os.sched_getaffinity(0)) + 1


def rerun(store: Store, sweep: str, audience: Audience | None = None) -> Rerun:
    return rerun_sweep(store, sweep, HERE, audience or silent(), failed=False, oversubscribed=True)


def test_a_rerun_that_cannot_begin_leaves_what_another_one_has_put_back(store: Store) -> None:
    others, own = shared_trials(store, "true", {"workers": [1, TOO_MANY]})
    store.sweeps.repeat(others.sweep_id, [others.id])
    with pytest.raises(SeatingError):
        rerun(store, own.sweep_id)
    assert [trial.state for trial in store.trials.of(own.sweep_id)] == [TrialState.PENDING, TrialState.COMPLETED]


def test_a_rerun_that_is_interrupted_restores_what_it_put_back_and_nothing_else(store: Store) -> None:
    others, own = shared_trials(store, "true {loss}", {"loss": [1, 2]})
    store.sweeps.repeat(others.sweep_id, [others.id])
    lines: list[str] = []

    def interrupted(of: Store, sweep: SweepRecord) -> NoReturn:
        assert [trial.state for trial in of.trials.of(sweep.id)] == [TrialState.PENDING, TrialState.PENDING]
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
    program = LOSES + (" {seed}" if repeats > 1 else "")
    *_, worst = shared_trials(store, program, {"loss": [1, 8]}, only_last=True, prune="area", repeats=repeats)
    assert (worst.parameters["loss"], worst.oversubscribed) == (8, True)
    done = rerun(store, worst.sweep_id)
    assert (done.to_repeat, done.beaten, done.unfinished) == (1, 1, 0)
    assert store.trials.find(worst.id) == worst
    assert [one.state for one in store.attempts.of(worst.id)] == attempts


def test_a_repetition_that_fails_is_unfinished(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (trial,) = shared_trials(store, "exit 3", {"workers": [1]})
    done = rerun(store, trial.sweep_id)
    assert (done.to_repeat, done.beaten, done.unfinished) == (1, 0, 1)
    assert store.trials.find(trial.id) == trial


def test_nothing_to_run_again_is_an_error_that_changes_nothing(store: Store) -> None:
    trials = shared_trials(store, "true", {"workers": [1]})
    with pytest.raises(NotFoundError, match="none of its trials has failed"):
        rerun_sweep(store, trials[0].sweep_id, HERE, silent(), failed=True, oversubscribed=False)
    assert store.trials.of(trials[0].sweep_id) == trials


@pytest.mark.parametrize(
    ("executor", "address", "options"),
    [
        ("ray", None, ""),
        ("ray", "10.0.0.1:6379", " --ray-address 10.0.0.1:6379"),
        ("local", None, " --executor local"),
        ("slurm", None, " --executor slurm"),
    ],
)
def test_a_command_that_goes_on_names_the_same_place(executor: str, address: str | None, options: str) -> None:
    here = Execution(executor, address, finish_running=False, oversubscribe=False)
    assert here.options == options
    assert replace(here, one_at_a_time=True).options == f"{options} --one-at-a-time"


def test_derived_trials_that_may_be_the_best_are_trained_and_told_from_the_rest(store: Store) -> None:
    trial = {"model": "mlp", "data": "digits", "images": 640, "batch_size": 64, "points": 5}
    space = {"learning_rate": [0.1, 0.2, 0.3], "workers": [1]}
    spec = parse_spec({"name": "s", "trial": trial, "space": space})
    sweep = store.sweeps.add(spec.model_copy(update={"reuse": "equivalent"}), plan(spec))
    trials = store.trials.of(sweep)
    for one, loss in zip(trials, (3.0, 4.0, 99.0), strict=True):
        attempt = store.attempts.claim(one.id)
        assert attempt
        points = [LossPoint(2 * n, 128 * n, n / 100, loss / n) for n in range(1, 6)]
        store.attempts.add_points(one.id, attempt, points)
        source = trials[1].id if one is not trials[1] else None
        store.attempts.finish(one.id, attempt, TrialState.COMPLETED, summarize(points), derived_from=source)
    answer = best_answer(store, sweep, recommend=True)
    assert answer["groups"][0]["derived_candidates"] == [trials[0].id]
    (line,) = derived_lines(answer, " --store x")
    assert line.endswith(f"derived from others. To train for real: `sweeper rerun {sweep} --derived --store x`")

    done = rerun_sweep(store, sweep, HERE, silent(), derived=True)
    assert (done.to_repeat, done.beaten, done.unfinished) == (1, 0, 0)
    after = store.trials.of(sweep)
    assert [one.attempt for one in after] == [2, 1, 1]
    assert [one.derived_from for one in after] == [None, None, trials[1].id]
    assert [one.state for one in store.attempts.of(after[0].id)] == ["completed"] * 2
    told = best_answer(store, sweep, recommend=True)["trained_again"]
    before = summarize(store.attempts.points(after[0].id, 1)).area_images
    trained = after[0].area_images
    assert before
    assert trained
    assert told["trials"] == 1
    assert told["largest_difference"]["images"] == pytest.approx(abs(before / trained - 1))
