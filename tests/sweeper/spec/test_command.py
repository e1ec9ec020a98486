"""A program as a trial: what its words stand for, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeper.errors import SpecError
from sweeper.guides.samplers import first_points
from sweeper.plan import plan
from sweeper.spec import SweepSpec, parse_config, parse_spec
from sweeper.spec.command import CommandConfig
from sweeper.spec.file import load_spec

PRINTS = {"command": ["a"]}
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


def words(space: dict[str, Any], *command: Any, **fields: Any) -> list[list[str]]:
    trials = plan(parsed({"command": ["p", *command]}, space, **fields))
    return [trial.config.words(trial.workers)[1:] for trial in trials if isinstance(trial.config, CommandConfig)]


def test_a_word_without_a_value_is_left_out_and_an_empty_one_is_not() -> None:
    assert words({"flag": [None, "--fast", ""]}, "-v", "{flag}", "end") == [
        ["-v", "end"],
        ["-v", "--fast", "end"],
        ["-v", "", "end"],
    ]
    assert words({"rate": [None, 0.5]}, "--rate={rate}") == [[], ["--rate=0.5"]]
    assert words({"rate": [None, 0.5]}, ["--rate", "{rate}"], "end") == [["end"], ["--rate", "0.5", "end"]]


def test_words_and_variables_of_a_field_that_a_trial_does_not_have_are_left_out() -> None:
    space = {"kind": ["sgd", "adam"], "momentum": {"values": [0.5, 0.9], "when": {"kind": "sgd"}}}
    trial = {
        "command": ["p", "{kind}", ["--momentum", "{momentum}"]],
        "environment": {"M": "{momentum}", "K": "{kind}"},
    }
    trials = plan(parsed(trial, space))
    configs = [trial.config for trial in trials if isinstance(trial.config, CommandConfig)]
    assert [config.words(1) for config in configs] == [
        *(["p", "sgd", "--momentum", value] for value in ("0.5", "0.9")),
        ["p", "adam"],
    ]
    assert [config.variables(1) for config in configs][1:] == [{"M": "0.9", "K": "sgd"}, {"K": "adam"}]
    assert [trial.parameters["momentum"] for trial in trials] == [0.5, 0.9, None]
    assert len({trial.key for trial in trials}) == 3
    for config in configs:
        assert parse_config(config.model_dump(mode="json")) == config


def test_true_and_1_are_two_values() -> None:
    assert words({"a": [True, 1]}, "{a}") == [["True"], ["1"]]


@pytest.mark.parametrize(
    ("axis", "whole"),
    [
        ({"low": 1, "high": 9}, True),
        ({"low": 1, "high": 1000, "log": True}, True),
        ({"low": 1.0, "high": 9}, False),
        ({"low": 1, "high": 9.5}, False),
        ({"low": 1, "high": 9, "whole": False}, False),
        ({"low": 1.0, "high": 9.0, "whole": True}, True),
    ],
)
def test_bounds_that_are_whole_give_whole_numbers(axis: dict[str, Any], whole: bool) -> None:
    spec = parsed({"command": ["p", "{n}"]}, {"n": axis}, search="random", trials=9)
    for same in (spec, SweepSpec.model_validate(spec.model_dump(mode="json"))):
        values = [trial.parameters["n"] for trial in plan(same, first_points)]
        assert all(isinstance(value, int) for value in values) == whole
    assert bool(spec.notes()) == whole


def test_an_engine_field_has_its_own_type_whatever_the_bounds() -> None:
    space = {
        "batch_size": {"low": 1, "high": 99},
        "momentum": {"low": 0, "high": 0.9},
        "learning_rate": {"low": 1, "high": 9},
    }
    spec = parse_spec({"name": "n", "space": space, "search": "random", "trials": 9})
    trials = [trial.parameters for trial in plan(spec, first_points)]
    assert all(isinstance(one["batch_size"], int) for one in trials)
    assert not any(float(one["learning_rate"]).is_integer() for one in trials)
    with pytest.raises(SpecError, match=r"space.batch_size: 1.5 is no whole number"):
        parse_spec({"name": "n", "space": {"batch_size": {"low": 1.5, "high": 9}}, "search": "random", "trials": 2})
    with pytest.raises(SpecError, match=r"low 1\.5 and high 9 have to be whole"):
        parse_spec({"name": "n", "space": {"batch_size": {"low": 1.5, "high": 9, "whole": True}}})


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
        (TRIAL, {"rate": [1], "workers": [0]}, {}, "space.workers: 0 is not a worker count"),
        (TRIAL, {"rate": [1]}, {"repeats": 2}, "repeats: 2 needs seeds; write {seed} where one goes in trial.command"),
        ({"command": []}, {"workers": [1]}, {}, "trial.command"),
        ({**PRINTS, "report": {"loss": "loss=("}}, {"workers": [1]}, {}, "trial.report.loss: 'loss=(': is no regular"),
        ({**PRINTS, "report": {"loss": "loss"}}, {"workers": [1]}, {}, "trial.report.loss: 'loss': has 0 groups; put"),
        ({**PRINTS, "report": {"loss": "(a)(b)"}}, {"workers": [1]}, {}, "trial.report.loss: '(a)(b)': has 2 groups"),
        ({**PRINTS, "report": {"step": "(a)"}}, {"workers": [1]}, {}, "trial.report.loss: is missing; add it"),
        (
            {**PRINTS, "report": {"loss": "(b)", "los": "(a)"}},
            {"workers": [1]},
            {},
            "trial.report.los: unknown key; did you mean loss?",
        ),
        (TRIAL, {"a-b": [1], "rate": [1]}, {}, "space.a-b: cannot stand in braces; take letters, digits and _"),
        (TRIAL, {"rate": [1, "1"]}, {}, "space.rate: '1' is given 2 times; keep one of them"),
        ({**TRIAL, "values": {"b": 1}}, {"rate": [1]}, {}, "trial.values.b: the command does not use it; remove it"),
        ({**TRIAL, "values": {"workers": 1}}, {"rate": [1]}, {}, "trial.values.workers: the command does not use it"),
        ({"command": "python train.py"}, {"workers": [1]}, {}, "trial.command: 'python train.py' is no list"),
        ({"command": ["a"], "imges": 1}, {"workers": [1]}, {}, "trial.imges: unknown key; known are command"),
        ({"command": ["a"], "images": 1}, {"workers": [1]}, {}, "trial.images: unknown key"),
        ({"comand": ["a"]}, {"workers": [1]}, {}, "trial.comand: unknown key; did you mean command?"),
        (TRIAL, {"rate": [1000, 1e3]}, {}, "space.rate: 1000 and 1000.0 are the same number; keep one of them"),
        (TRIAL, {"rate": [0.0, -0.0, 1]}, {}, "space.rate: 0.0 and -0.0 are the same number; keep one of them"),
        (
            {"command": ["a", "{rate}"]},
            {"rate": [None, 1, None]},
            {},
            "space.rate: None is given 2 times; keep one of them",
        ),
        (TRIAL, {"rate": [None, 1]}, {}, "trial.command: '--lr' would stay where {rate} is left out; write the two as"),
        ({"command": ["{a}"]}, {"a": [None, "b"]}, {}, "trial.command: the program, '{a}', needs a value of {a}"),
        ({"command": ["a", "{b}"], "values": {"b": None}}, {"workers": [1]}, {}, "trial.values.b: has no value; give"),
        ({"command": ["a", ["b", ["c"]]]}, {"workers": [1]}, {}, "trial.command[1][1]: ['c'] is no text"),
        ({"command": ["a", []]}, {"workers": [1]}, {}, "trial.command[1]: "),
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


def test_patterns_make_another_trial_and_none_leave_the_key_as_it_was() -> None:
    plain, same, other = (
        plan(parsed({**PRINTS, **fields}, {"workers": [1]}))[0].key
        for fields in ({}, {"report": None}, {"report": {"loss": "loss=(.*)"}})
    )
    assert plain == same != other
