"""The page, and the answers, of a trial that is repeated: all of the attempt that it has its result of."""

from __future__ import annotations

import pytest

from sweeper.answers.sweeps import show_answer
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import Store
from tests.dashboards.client import client_of
from tests.dashboards.sweeps import curve, submit

POINTS = curve(4.0, 1.5)


def repeated(store: Store, end: TrialState, took_effect: str) -> str:
    """A trial that ended so and waits to be repeated; returns its id."""
    sweep = submit(store, {"learning_rate": [0.1]})
    trial = store.trials.of(sweep)[0].id
    store.attempts.claim(trial)
    store.attempts.start(trial, 1, 0.5, 0.5, {"device": took_effect})
    store.attempts.add_points(trial, 1, POINTS)
    store.attempts.finish(trial, 1, end, summarize(POINTS), phases={"compute": 4.0}, oversubscribed=True)
    store.sweeps.repeat(sweep, [trial])
    return trial


@pytest.mark.parametrize("end", [None, TrialState.FAILED, TrialState.PRUNED])
def test_settings_are_those_of_the_attempt_that_has_the_result(store: Store, end: TrialState | None) -> None:
    trial = repeated(store, TrialState.COMPLETED, "the device of the result")
    store.attempts.claim(trial)
    store.attempts.start(trial, 2, 0.5, 0.5, {"device": "another device"})
    if end:
        store.attempts.finish(trial, 2, end, summarize(POINTS[:1]))
    page = client_of(store).get(f"/trials/{trial}").text
    settings = page[page.index('class="settings"') :]
    settings = settings[: settings.index("</table>")]
    assert "the device of the result" in settings
    assert "another device" not in settings


def test_steps_and_phases_of_a_step_are_those_of_the_result(store: Store) -> None:
    trial = repeated(store, TrialState.COMPLETED, "cpu")
    store.attempts.claim(trial)
    first, second = client_of(store).get(f"/api/v1/trials/{trial}").json()["attempts"]
    assert first["phases_per_step"] == {"compute": 4.0 / len(POINTS)}
    assert second["phases_per_step"] == {}


def test_a_bound_is_shown_as_one_while_its_trial_waits_to_be_repeated(store: Store) -> None:
    trial = repeated(store, TrialState.PRUNED, "cpu")
    found = store.trials.find(trial)
    (shown,) = show_answer(store, found.sweep_id)["trials"]
    assert (shown["state"], shown["area_is_bound"]) == ("pending", True)
    page = client_of(store).get(f"/trials/{trial}").text
    assert page.count("≥") >= 3, "the areas over seconds, images and steps"
