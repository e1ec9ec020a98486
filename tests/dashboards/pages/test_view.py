"""A view and its address say the same; logs are shown by their ends."""

from __future__ import annotations

from urllib.parse import parse_qs

from hypothesis import given
from hypothesis import strategies as st

from dashboards.figures import Choices
from dashboards.pages.sweeps.leaders import leaders_of
from dashboards.pages.view import View, view_of
from dashboards.responses.paging import Paging
from sweeper.answers.best import best_answer
from sweeper.answers.numbers import duration
from sweeper.plan import with_seed
from sweeper.store import Store, SweepRecord
from tests.dashboards.sweeps import curve, end, run

FINITE = st.none() | st.floats(allow_nan=False, allow_infinity=False)
IDS = st.lists(st.text("0123456789abcdef-", min_size=1, max_size=12), max_size=5, unique=True).map(tuple)


CHOICES = st.builds(
    Choices,
    st.booleans(),
    st.none() | st.floats(0.01, 1),
    st.lists(st.integers(1, 1000), max_size=3).map(tuple),
    st.lists(st.text(min_size=1, max_size=9), max_size=3).map(tuple),
    st.none() | st.integers(1, 10**9),
)


@given(FINITE, st.sampled_from([None, "images", "dollars"]), FINITE, st.booleans(), st.text(max_size=9), IDS, CHOICES)
def test_an_address_gives_the_same_view(
    threshold: float | None,
    over: str | None,
    rate: float | None,
    shared: bool,
    section: str,
    trials: tuple[str, ...],
    choices: Choices,
) -> None:
    view = View(threshold, over, rate, shared, section.strip(), trials, choices)
    several = parse_qs(view.query().removeprefix("?"), keep_blank_values=True)
    query = {name: values[0] for name, values in several.items()}
    found = view_of(
        float(query["threshold"]) if "threshold" in query else None,
        query.get("over"),  # type: ignore[arg-type]
        float(query["dollars_per_worker_hour"]) if "dollars_per_worker_hour" in query else None,
        query.get("oversubscribed") == "true",
        query.get("section", ""),
        query.get("trials", ""),
        query.get("error") == "true",
        float(query["accuracy"]) if "accuracy" in query else None,
        [int(count) for count in several.get("forecast", ())],
        several.get("with"),
        int(query["images"]) if "images" in query else None,
    )
    assert found == view


@given(st.integers(1, 50), st.integers(0, 500))
def test_pages_have_everything_once(page: int, total: int) -> None:
    first = Paging(1, total, 20)
    shown = [i for number in range(1, first.pages + 1) for i in range(total)[slice(*_ends(Paging(number, total, 20)))]]
    assert shown == list(range(total))
    beyond = Paging(page, total, 20)
    assert beyond.last - beyond.first <= 20


def _ends(paging: Paging) -> tuple[int, int]:
    return paging.first, paging.last


def test_durations_are_words() -> None:
    shown = [duration(seconds) for seconds in (None, 0.85, 12.34, 245.0, 10_920.0, float("nan"))]
    assert shown == ["–", "850 ms", "12.3 s", "4 min 05 s", "3 h 02 min", "–"]


def test_leaders_are_those_of_best_in_every_kind_of_sweep(store: Store) -> None:
    space = {"batch_size": [16, 32], "learning_rate": [0.1, 0.5], "workers": [1, 2]}
    for more in ({}, {"repeats": 2}, {"group_by": ["batch_size"]}, {"over": "images"}, {"threshold": 0.1}):
        sweep = run(store, space, lambda t: curve(3.0 / t.workers + t.parameters["learning_rate"], 1.0), **more)
        assert_leaders_are_those_of_best(store, sweep)
    sweep = run(store, space, lambda t: curve(3.0 / t.workers + t.parameters["learning_rate"], 1.0))
    first = min(store.trials.of(sweep.id), key=lambda t: t.area("seconds") or 0.0)
    store.sweeps.extend(sweep.id, [with_seed(first.planned, 1)])
    end(store, store.trials.of(sweep.id)[-1], curve(9.0, 1.0))
    assert first.id not in assert_leaders_are_those_of_best(store, sweep), "its further seed was worse"


def assert_leaders_are_those_of_best(store: Store, sweep: SweepRecord) -> list[str]:
    winners = [group["winner"] for group in best_answer(store, sweep.id)["groups"] if group["winner"]]
    found = leaders_of(store, sweep)
    assert found is not None
    assert [(one.trial, one.area) for one in found] == [(one["trial"], one["area"]) for one in winners]
    return [one.trial for one in found]
