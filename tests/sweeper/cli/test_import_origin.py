"""`sweeper import --origin`: where the seconds of logs begin, and what is ranked by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sweeper.store.store import Store


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    (tmp_path / "2w.log").write_text("1 2.0\n2 1.0\n3 1.0\n")
    (tmp_path / "1w.log").write_text("50 2.0\n51 1.0\n52 1.0\n")
    return [str(tmp_path / name) for name in ("2w.log", "1w.log")]


PATTERN = r"(?P<workers>\d)w"


def areas(store: Store, sweep: str) -> list[float | None]:
    return [trial.area_seconds for trial in store.trials.of(sweep)]


def test_a_guess_is_said_and_leaves_the_sweep_unranked_over_seconds(run: Any, store: Store, logs: list[str]) -> None:
    code, out, _ = run("import", *logs, "--pattern", PATTERN, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["seconds_origin"] == "first"
    (note,) = answer["notes"]
    assert note.startswith("1w.log: its first point lies at 50 s")
    assert "--origin first" in note
    assert areas(store, answer["sweep"]) == [None, None]
    trials = store.trials.of(answer["sweep"])
    assert [[point.seconds for point in store.attempts.points(trial.id)] for trial in trials] == [[0.0, 1.0, 2.0]] * 2
    told = [attempt.effective["import"] for trial in trials for attempt in store.attempts.of(trial.id)]
    assert [one["first_seconds"] for one in told] == [1.0, 50.0]  # what the logs said is not lost
    code, out, _ = run("best", answer["sweep"])
    assert code == 0
    assert "2 imported trials are left out: it is not known where their seconds begin" in out
    over_steps = json.loads(run("best", answer["sweep"], "--over", "steps", "--json")[1])
    assert [group["winner"]["area"] for group in over_steps["groups"]] == [4.5, 4.5]
    assert over_steps["unknown_origin"] == 0


@pytest.mark.parametrize(("origin", "expected"), [("first", [2.5, 2.5]), ("zero", [4.5, 102.5])])
def test_the_origin_that_is_given_is_ranked_by(
    run: Any, store: Store, logs: list[str], origin: str, expected: list[float]
) -> None:
    sweep = json.loads(run("import", *logs, "--pattern", PATTERN, "--origin", origin, "--json")[1])["sweep"]
    assert areas(store, sweep) == expected
    assert json.loads(run("best", sweep, "--json")[1])["unknown_origin"] == 0


def test_durations_count_from_zero_without_a_word(run: Any, store: Store, logs: list[str]) -> None:
    answer = json.loads(run("import", logs[0], "--json")[1])
    assert (answer["seconds_origin"], answer["notes"]) == ("zero", [])
    assert answer["trials"][0]["notes"] == ["its two columns are taken to be seconds and loss"]
    assert areas(store, answer["sweep"]) == [4.5]


def test_an_export_has_its_origin(run: Any, logs: list[str], tmp_path: Path) -> None:
    sweep = json.loads(run("import", logs[0], "--json")[1])["sweep"]
    assert run("export", sweep, "-o", str(tmp_path / "sweep.json"))[0] == 0
    code, _, err = run("import", str(tmp_path / "sweep.json"), "--origin", "zero")
    assert code == 1
    assert "leave out --set, --pattern, --origin and the keys" in err
