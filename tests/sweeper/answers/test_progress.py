"""A sweep that is followed: when its state changes, and when it is over."""

from __future__ import annotations

from typing import Any

import pytest

from sweeper.answers.progress import Follower, is_over
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import Store
from tests.dashboards.sweeps import submit


def look(follower: Follower) -> dict[str, Any]:
    return follower.progress(follower.running())


def test_who_follows_hears_that_a_scheduler_has_gone_though_no_trial_has_ended(store: Store) -> None:
    sweep = submit(store, {"learning_rate": [0.1, 0.2]})
    scheduler = store.leases.begin("host", "process")
    follower = Follower(store, sweep)
    waiting = look(follower)
    assert (waiting["state"], is_over(waiting)) == ("waiting", True), "nobody is about to run it"
    store.attempts.claim(store.trials.of(sweep)[0].id, scheduler_id=scheduler)
    running = look(follower)
    assert (running["state"], is_over(running)) == ("running", False)
    store.leases.end(scheduler)
    left = look(follower)
    assert (left["state"], left["states"], is_over(left)) == ("interrupted", running["states"], True)
    assert left["changed"] != running["changed"]


def test_who_follows_hears_of_a_stop_and_of_what_came_of_it(store: Store) -> None:
    sweep = submit(store, {"learning_rate": [0.1, 0.2]})
    first, second = [trial.id for trial in store.trials.of(sweep)]
    scheduler = store.leases.begin("host", "process")
    follower = Follower(store, sweep)
    for trial in (first, second):
        store.attempts.claim(trial, scheduler_id=scheduler)
    assert not look(follower)["stopped"]
    store.sweeps.ask_to_stop(sweep)
    asked = look(follower)
    assert (asked["state"], asked["stopped"], is_over(asked)) == ("running", True, False)
    for trial in (first, second):
        store.attempts.finish(trial, 1, TrialState.CANCELLED, summarize([]))
    ended = look(follower)
    assert (ended["state"], is_over(ended)) == ("stopped", True)


@pytest.mark.parametrize(
    ("state", "nobody", "service", "stopped"),
    [
        ("pending", True, False, True),
        ("running", False, False, False),
        ("interrupted", True, False, True),
        ("completed", True, True, True),
        ("a state of a later version", False, False, False),
    ],
)
def test_a_service_of_another_version_is_understood(state: str, nobody: bool, service: bool, stopped: bool) -> None:
    """With no service about to run the sweep, with one, and with one after somebody has stopped the sweep."""
    progress = {"state": state, "problem": None, "submitted": False, "stopped": False}
    assert is_over(progress) == nobody
    assert is_over({**progress, "submitted": True}) == service
    assert is_over({**progress, "submitted": True, "stopped": True}) == stopped
    assert is_over({**progress, "submitted": True, "problem": {"message": "no such model"}})
