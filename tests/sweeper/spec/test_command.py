"""A program as a trial: what its words stand for, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeper.errors import SpecError
from sweeper.plan import plan
from sweeper.spec import SweepSpec, parse_config, parse_spec
from sweeper.spec.command import CommandConfig
from sweeper.spec.file import load_spec

TRIAL = {"command": ["python", "train.py", "--lr", "{rate}", "--on={workers}", "{{rate}}", '{"a": 1}']}


def parsed(trial: dict[str, Any] = TRIAL, space: Any = None, **fields: Any) -> SweepSpec:
    return parse_spec({"name": "n", "trial": trial, "space": space or {"rate": [0.1, 1e-5], "workers": [2]}, **fields})


def test_braces_stand_for_values_workers_and_themselves() -> None:
    first, second = plan(parsed())
    assert isinstance(first.config, CommandConfig)
    assert first.config.words(first.workers) == [*("python", "train.py", "--lr", "0.1", "--on=2", "{rate}", '{"a": 1}')]
    assert isinstance(second.config, CommandConfig)
    assert second.config.words(2)[3] == "1e-05"
    assert first.parameters == {"workers": 2, "rate": 0.1}
    assert first.key != second.key


def test_values_that_stay_the_same_and_the_environment() -> None:
    trial = {"command": ["a", "{b}"], "environment": {"RATE": "{rate}-{b}"}, "values": {"b": True}}
    (planned,) = plan(parsed(trial, {"rate": [2]}))
    assert isinstance(planned.config, CommandConfig)
    assert planned.config.words(1) == ["a", "True"]
    assert planned.config.variables(1) == {"RATE": "2-True"}


def test_numbers_among_the_words_are_taken_as_written() -> None:
    (planned,) = plan(parsed({"command": ["a", 16, 0.5], "environment": {"N": 4}}, {"workers": [1]}))
    assert isinstance(planned.config, CommandConfig)
    assert (planned.config.words(1), planned.config.variables(1)) == (["a", "16", "0.5"], {"N": "4"})


def test_ranges_give_whole_numbers_where_they_are_whole() -> None:
    trials = plan(parsed({"command": ["a", "{n}"]}, {"n": {"low": 1, "high": 2, "step": 0.5}}))
    assert [t.config.words(1)[1] for t in trials if isinstance(t.config, CommandConfig)] == ["1", "1.5", "2"]


def test_ranges_of_fields_that_the_engine_has_are_as_written() -> None:
    trials = plan(parsed({"command": ["a", "{images}"]}, {"images": {"low": 1, "high": 2, "count": 3}}))
    assert [trial.parameters["images"] for trial in trials] == [1, 1.5, 2]


def test_repeats_give_seeds() -> None:
    trials = plan(parsed({"command": ["a", "{rate}", "{seed}"], "values": {"seed": 7}}, {"rate": [1]}, repeats=2))
    assert [trial.parameters["seed"] for trial in trials] == [7, 8]
    assert len({trial.key for trial in trials}) == 2


def test_a_command_keeps_the_folder_that_it_was_submitted_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.yaml").write_text("{name: n, trial: {command: [a, '{b}']}, space: {b: [1]}}")
    monkeypatch.chdir(tmp_path)
    here = load_spec(Path("a.yaml"))
    with pytest.raises(SpecError, match=r"trial\.folder: 'there' is no folder here"):
        load_spec(Path("a.yaml"), ["trial.folder=there"])
    (tmp_path / "there").mkdir()
    there = load_spec(Path("a.yaml"), ["trial.folder=there"])
    assert [getattr(spec.trial, "folder", "") for spec in (here, there)] == [str(tmp_path), str(tmp_path / "there")]
    assert plan(here)[0].key == plan(there)[0].key


def test_the_store_gives_back_what_it_got() -> None:
    for trial in plan(parsed()):
        assert parse_config(trial.config.model_dump(mode="json")) == trial.config
    assert SweepSpec.model_validate(parsed().model_dump(mode="json")) == parsed()


@pytest.mark.parametrize(
    ("trial", "space", "fields", "said"),
    [
        (TRIAL, {"rate": [1], "other": [1]}, {}, "space.other: the command does not use it; write {other} where"),
        (TRIAL, {"workers": [1]}, {}, "trial.command: {rate} stands for nothing; add space.rate or trial.values.rate"),
        (TRIAL, {"rate": [1, 1]}, {}, "space.rate: '1' is given 2 times; keep one of them"),
        (TRIAL, {"rate": []}, {}, "space.rate: is empty"),
        (TRIAL, {"rate": [1], "workers": [0]}, {}, "space.workers: 0 is no worker count"),
        (TRIAL, {"rate": [1]}, {"repeats": 2}, "repeats: 2 needs seeds; write {seed} where one goes in trial.command"),
        ({"command": []}, {"workers": [1]}, {}, "trial.command"),
        (TRIAL, {"a-b": [1], "rate": [1]}, {}, "space.a-b: cannot stand in braces; take letters, digits and _"),
        (TRIAL, {"rate": [1, "1"]}, {}, "space.rate: '1' is given 2 times; keep one of them"),
        ({**TRIAL, "values": {"b": 1}}, {"rate": [1]}, {}, "trial.values.b: the command does not use it; remove it"),
        ({**TRIAL, "values": {"workers": 1}}, {"rate": [1]}, {}, "trial.values.workers: the command does not use it"),
        ({"command": "python train.py"}, {"workers": [1]}, {}, "trial.command: 'python train.py' is no list"),
        ({"command": ["a"], "imges": 1}, {"workers": [1]}, {}, "trial.imges: unknown key; known are command"),
        ({"command": ["a"], "images": 1}, {"workers": [1]}, {}, "trial.images: unknown key"),
        ({"comand": ["a"]}, {"workers": [1]}, {}, "trial.comand: unknown key; did you mean command?"),
        (
            {"command": ["a", {"b": None}]},
            *({"b": [1]}, {}, 'trial.command[1]: write "{b}", with the quotes'),
        ),
        ({"imges": 1}, {"workers": [1]}, {}, "trial.imges: unknown key; did you mean images?"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    trial: dict[str, Any], space: dict[str, Any], fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(SpecError) as caught:
        parsed(trial, space, **fields)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(said)
