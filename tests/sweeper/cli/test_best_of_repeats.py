"""`best` and `show` of sweeps with repeats and with a price."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sweeper.plan import plan, with_seed
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store.store import Store

REPEATED = {
    "name": "repeated",
    "space": {"learning_rate": [0.1, 0.2, 0.3], "workers": [1, 2]},
    "objective": {"threshold": 1.8},
    "repeats": 3,
}


def curve(area: float, last: float = 1.0) -> list[LossPoint]:
    """A curve of this area over seconds, over as many seconds."""
    return [LossPoint(1, 64, 0.0, 2 - last), LossPoint(2, 128, area, last)]


def submit(store: Store, written: Mapping[str, Any], areas: Mapping[tuple[int, float], Sequence[float]]) -> str:
    """A sweep whose trials of a worker count and a rate have these areas, seed by seed; those without one wait."""
    spec = parse_spec(written)
    sweep_id = store.sweeps.add(spec, plan(spec))
    for trial in store.trials.of(sweep_id):
        found = areas.get((trial.workers, trial.parameters["learning_rate"]), ())
        seed = trial.parameters.get("seed", 0)
        if seed < len(found):
            finish(store, trial.id, found[seed])
    return sweep_id


def finish(store: Store, trial_id: str, area: float) -> None:
    """Complete a trial with this area over seconds."""
    points = curve(area)
    attempt = store.attempts.claim(trial_id) or 0
    store.attempts.add_points(trial_id, attempt, points)
    store.attempts.finish(trial_id, attempt, TrialState.COMPLETED, summarize(points))


AREAS = {
    (1, 0.1): [10.0, 10.4, 10.2],
    (1, 0.2): [9.0, 9.4, 9.1],
    (1, 0.3): [5.0, 5.0],  # its third seed waits
    (2, 0.1): [6.0, 7.0, 6.5],
    (2, 0.2): [6.1, 6.9, 6.7],
    (2, 0.3): [30.0, 31.0, 32.0],
}


def test_best_has_means_intervals_and_who_can_be_told_apart(run: Any, store: Store) -> None:
    sweep_id = submit(store, REPEATED, AREAS)
    ids = {(t.workers, t.parameters["learning_rate"], t.parameters["seed"]): t.id for t in store.trials.of(sweep_id)}
    one, two = json.loads(run("best", "repeated", "--json")[1])["groups"]
    winner = one["winner"]
    assert winner["parameters"] == {"workers": 1, "batch_size": 128, "learning_rate": 0.2}
    assert winner["trial"] == ids[1, 0.2, 0]
    assert winner["trials"] == [ids[1, 0.2, seed] for seed in range(3)]
    assert (winner["repeats"], winner["seeds"], winner["level"]) == (3, [0, 1, 2], 0.95)
    assert winner["area"] == pytest.approx(9.5 / 9 * 9 - 1 / 3)
    low, high = winner["area_interval"]
    assert low < 9.0 < winner["area"] < 9.4 < high
    assert (one["trials"], one["qualified"], one["settings"], one["qualified_settings"]) == (9, 6, 3, 2)
    assert one["runner_up"]["parameters"]["learning_rate"] == 0.1
    assert (one["separated"], one["undecided"]) == (True, 0)
    assert one["comparison"]["compared"] == 1
    assert one["comparison"]["p_value"] == one["comparison"]["adjusted_p_value"] < 0.05
    assert (two["separated"], two["undecided"], two["comparison"]["compared"]) == (False, 1, 2)
    assert two["comparison"]["correction"] == "Holm"


@pytest.mark.usefixtures("store")
def test_best_says_in_words_how_sure_it_is(run: Any, store: Store) -> None:
    sweep_id = submit(store, REPEATED, AREAS)
    lines = run("best", "repeated")[1].splitlines()
    assert lines[1] == "Qualified are the trials whose minimum loss is at most the threshold 1.8 with all seeds."
    assert lines[2].split() == [
        *("workers", "batch", "size", "learning", "rate", "area", "minimum", "loss", "seconds", "images"),
        *("repeats", "interval", "qualified", "settings"),
    ]
    assert lines[3].split()[-1] == "2/3"
    assert lines[3].split()[7] == "3"
    assert lines[5].startswith("workers 1: take the winner. The chance that it is the best is ")
    assert lines[6].startswith("workers 2: take the winner. The chance that it is the best is ")
    assert "1 other setting cannot be ruled out: batch_size 128, learning_rate 0.2. 5 more seeds of both" in lines[6]
    assert lines[7].startswith(
        "workers 1: the seeds of the winner and the runner-up (batch_size 128, learning_rate 0.1) say the same by "
        "themselves: p 0.0"
    )
    assert lines[8] == (
        "To train more seeds of these settings alone (10 trials): "
        f"`sweeper extend {sweep_id} --seeds 5 --store {store.name}`"
    )
    asked = ("--by", "workers", "--threshold", "1.9")
    assert f"--seeds 5 {' '.join(asked)} --store {store.name}`" in run("best", "repeated", *asked)[1]


def test_seeds_alone_speak_where_nothing_is_recommended(run: Any, store: Store) -> None:
    areas = {(1, 0.1): [10.0, 10.4], (1, 0.2): [9.0, 9.35], (2, 0.1): [6.0, 7.0], (2, 0.2): [6.1, 6.9]}
    submit(store, {**REPEATED, "repeats": 2}, areas)
    out = run("best", "repeated")[1]
    assert "workers 1: told apart from the runner-up (batch_size 128, learning_rate 0.1) at 95 %: p 0.0" in out
    assert "workers 2: not told apart from the runner-up (batch_size 128, learning_rate 0.2) at 95 %: p " in out


def test_seeds_that_were_added_to_some_settings_are_their_repeats(run: Any, store: Store) -> None:
    areas = {(1, 0.1): [10.0], (1, 0.2): [9.0], (1, 0.3): [9.1], (2, 0.1): [6.0], (2, 0.2): [6.1], (2, 0.3): [30.0]}
    sweep_id = submit(store, {**REPEATED, "repeats": 1}, areas)
    first = next(t for t in store.trials.of(sweep_id) if (t.workers, t.parameters["learning_rate"]) == (1, 0.2))
    assert store.sweeps.extend(sweep_id, [with_seed(first.planned, 1), with_seed(first.planned, 2)]) == 2
    for trial in store.trials.of(sweep_id):
        if seed := trial.parameters.get("seed"):
            finish(store, trial.id, 9.0 + 0.3 * seed)
    one, _ = json.loads(run("best", "repeated", "--json")[1])["groups"]
    assert (one["trials"], one["settings"]) == (5, 3)
    assert one["winner"]["parameters"]["learning_rate"] == 0.3
    second = one["runner_up"]
    assert second["parameters"] == {"workers": 1, "batch_size": 128, "learning_rate": 0.2}
    assert (second["seeds"], second["trial"]) == ([0, 1, 2], first.id)
    assert second["area"] == pytest.approx(9.3)
    assert "with all seeds" in run("best", "repeated")[1]


def test_of_one_seed_each_a_winner_is_called_a_guess(run: Any, store: Store) -> None:
    submit(store, {**REPEATED, "repeats": 1}, {(1, 0.1): [3.0], (1, 0.2): [4.0]})
    out = run("best", "repeated")[1]
    assert (
        "With one seed each a winner is a guess: fewer than 6 complete trials of a group are too few to tell chance "
        "from merit." in out
    )
    assert "interval" not in out
    (group, _) = json.loads(run("best", "repeated", "--json")[1])["groups"]
    assert (group["winner"]["area_interval"], group["separated"], group["winner"]["repeats"]) == (None, None, 1)


def test_a_seed_that_is_swept_stays_a_parameter(run: Any, store: Store) -> None:
    space = {"learning_rate": [0.1], "workers": [1], "seed": [0, 1]}
    submit(store, {**REPEATED, "repeats": 1, "space": space}, {(1, 0.1): [4.0, 3.0]})
    (group,) = json.loads(run("best", "repeated", "--json")[1])["groups"]
    assert (group["winner"]["parameters"]["seed"], group["winner"]["seeds"]) == (1, None)
    assert len(json.loads(run("best", "repeated", "--by", "seed", "--json")[1])["groups"]) == 2
    submit(store, {**REPEATED, "name": "other"}, {})
    code, _, err = run("best", "other", "--by", "seed")
    assert code == 1
    assert "by: sweep other has no parameter 'seed'" in err


PRICED = {**REPEATED, "name": "priced", "repeats": 1, "resources": {"dollars_per_worker_hour": 3.6}}
PRICED_AREAS = {(1, 0.1): [8.0], (1, 0.2): [9.0], (2, 0.1): [6.0], (2, 0.2): [5.0]}


def test_the_cheapest_and_the_fastest_are_shown_where_there_is_a_price(run: Any, store: Store) -> None:
    submit(store, PRICED, PRICED_AREAS)
    answer = json.loads(run("best", "priced", "--json")[1])
    cheapest, fastest = answer["cheapest"], answer["fastest"]
    assert answer["dollars_per_worker_hour"] == 3.6
    assert (cheapest["parameters"]["workers"], cheapest["parameters"]["learning_rate"]) == (1, 0.1)
    assert (cheapest["area_dollars"], cheapest["area_seconds"]) == (pytest.approx(0.008), pytest.approx(8.0))
    assert (fastest["parameters"]["workers"], fastest["parameters"]["learning_rate"]) == (2, 0.2)
    assert (fastest["area_dollars"], fastest["area_seconds"]) == (pytest.approx(0.01), pytest.approx(5.0))
    assert (fastest["seconds"], fastest["dollars"]) == (5.0, pytest.approx(0.01))
    lines = run("best", "priced")[1].splitlines()
    assert lines[-3].startswith("at $3.6 per worker and hour")
    assert lines[-2].split()[:2] == ["cheapest", "1"]
    assert lines[-1].split()[:2] == ["fastest", "2"]
    submit(store, {**PRICED, "name": "free", "resources": {}}, PRICED_AREAS)
    assert "cheapest" not in run("best", "free")[1]
    assert json.loads(run("best", "free", "--json")[1])["cheapest"] is None


def test_best_over_dollars_weighs_workers(run: Any, store: Store) -> None:
    submit(store, PRICED, PRICED_AREAS)
    for options in ((), ("--dollars-per-worker-hour", "36")):
        answer = json.loads(run("best", "priced", "--json", "--over", "dollars", "--by", "batch_size", *options)[1])
        (group,) = answer["groups"]
        assert answer["over"] == "dollars"
        assert group["winner"]["parameters"]["workers"] == 1
        assert group["winner"]["area"] == pytest.approx(0.08 if options else 0.008)
    over_seconds = json.loads(run("best", "priced", "--json", "--by", "batch_size")[1])["groups"]
    assert over_seconds[0]["winner"]["parameters"]["workers"] == 2


def test_over_dollars_without_a_price_is_a_clear_error(run: Any, store: Store) -> None:
    submit(store, {**PRICED, "resources": {}}, PRICED_AREAS)
    code, _, err = run("best", "priced", "--over", "dollars")
    assert code == 1
    assert "in the spec, or give a rate (--dollars-per-worker-hour)" in err
    assert run("best", "priced", "--over", "dollars", "--dollars-per-worker-hour", "2")[0] == 0
    assert run("best", "priced", "--dollars-per-worker-hour", "-1")[0] == 2
    assert run("best", "priced", "--dollars-per-worker-hour", "inf")[0] == 2


def test_show_bills_all_attempts_from_claim_to_end(run: Any, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep_id = submit(store, PRICED, {})
    now = [datetime(2026, 1, 1, tzinfo=UTC)]

    class Clock:
        @staticmethod
        def now(_zone: Any) -> datetime:
            return now[0]

    for module in ("attempts", "statements"):
        monkeypatch.setattr(f"sweeper.store.{module}.datetime", Clock)
    trial = next(trial for trial in store.trials.of(sweep_id) if trial.workers == 2)
    for state in ("interrupted", "completed"):
        attempt = store.attempts.claim(trial.id) or 0
        now[0] += timedelta(seconds=50)
        if state == "interrupted":
            store.attempts.release(trial.id, attempt, state)
        else:
            store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(curve(4.0)))
    answer = json.loads(run("show", "priced", "--json")[1])
    costs = {one["trial"]: one["dollars"] for one in answer["trials"]}
    assert costs.pop(trial.id) == pytest.approx(0.2)  # 100 s, 2 workers, 3.6 an hour
    assert set(costs.values()) == {0.0}
    assert answer["dollars"] == pytest.approx(0.2)
    out = run("show", "priced")[1]
    assert "cost: $0.20000, of all attempts" in out
    assert out.splitlines()[3].split()[-1] == "dollars"
    assert json.loads(run("show", "priced", "--json", "--dollars-per-worker-hour", "36")[1])[
        "dollars"
    ] == pytest.approx(2)


def test_an_import_is_billed_for_its_training(run: Any, store: Store) -> None:
    points = curve(10.0)
    store.sweeps.add_import("logs", [({"workers": 2}, "a.log", points, summarize(points))])
    assert json.loads(run("show", "logs", "--json")[1])["dollars"] is None
    answer = json.loads(run("show", "logs", "--json", "--dollars-per-worker-hour", "1.8")[1])
    assert answer["trials"][0]["dollars"] == pytest.approx(0.01)


def test_a_list_of_sweeps_needs_no_statistics(store: Store) -> None:
    call = f"from sweeper.cli.main import main\ntry: main(['list', '--store', {store.name!r}])"
    code = f"import sys\n{call}\nfinally: assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
