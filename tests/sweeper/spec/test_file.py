"""Specs from YAML and JSON files, and changes to them from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import TrainingConfig
from sweeper.errors import SpecError
from sweeper.spec import SweepSpec
from sweeper.spec.file import load_spec, parse_yaml, split_assignment
from tests.sweeper.specs import training

SHORT = """\
name: mine
space:
  batch_size: [16, 32]
  learning_rate: {low: 0.1, high: 0.3, step: 0.1}
  workers: [1, 2]
"""


def load(folder: Path, text: str | bytes, *overrides: str, name: str = "spec.yaml") -> SweepSpec:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_spec(path, overrides)


def fault(folder: Path, text: str | bytes, *overrides: str, name: str = "spec.yaml") -> str:
    """The only fault, without the file's name."""
    with pytest.raises(SpecError) as caught:
        load(folder, text, *overrides, name=name)
    (line,) = caught.value.problems
    return line.removeprefix(str(folder / name))


def test_five_lines_are_a_spec(tmp_path: Path) -> None:
    assert load(tmp_path, SHORT).axes == {
        "workers": (1, 2),
        "batch_size": (16, 32),
        "learning_rate": (0.1, 0.2, 0.3),
    }


def test_json_gives_the_same_spec(tmp_path: Path) -> None:
    assert load(tmp_path, json.dumps(parse_yaml(SHORT, "")), name="spec.json") == load(tmp_path, SHORT)


@pytest.mark.parametrize("name", ["spec.yaml", "spec.json"])
def test_a_byte_order_mark_does_no_harm(tmp_path: Path, name: str) -> None:
    text = json.dumps(parse_yaml(SHORT, ""))  # JSON is YAML as well
    assert load(tmp_path, b"\xef\xbb\xbf" + text.encode(), name=name) == load(tmp_path, SHORT)


@pytest.mark.parametrize("number", ["1e-3", "0.001", "1.0e-3", "1E-3", "+1e-3", ".001"])
def test_numbers_are_those_of_yaml_1_2(tmp_path: Path, number: str) -> None:
    rates = load(tmp_path, f"name: mine\nspace: {{learning_rate: [{number}]}}").axes["learning_rate"]
    assert rates == (0.001,)
    assert isinstance(rates[0], float)


def test_numbers_written_differently_are_one_number(tmp_path: Path) -> None:
    assert fault(tmp_path, "name: mine\nspace: {learning_rate: [1e-3, 0.001, 1.0e-3]}") == (
        "space.learning_rate: 0.001 is given 3 times; keep one of them"
    )


def test_an_exponent_may_write_a_whole_number(tmp_path: Path) -> None:
    (size,) = load(tmp_path, "name: mine\nspace: {batch_size: [1e3]}").axes["batch_size"]
    assert size == 1000
    assert isinstance(size, int)


def test_no_is_a_word_and_no_truth_value(tmp_path: Path) -> None:
    assert load(tmp_path, "name: no\nspace: {seed: [010]}").name == "no"
    assert load(tmp_path, "name: no\nspace: {seed: [010]}").axes["seed"] == (10,)


def test_overrides_change_what_is_written(tmp_path: Path) -> None:
    spec = load(
        tmp_path,
        SHORT,
        "trial.images=10240",
        "trial.exchange.average=weights",
        "space.batch_size=[64]",
        "space.exchange.average=[gradients, weights]",
        "objective.threshold=1.5",
        "name=a = b",
    )
    assert (training(spec.trial).images, training(spec.trial).exchange.average) == (10240, "weights")
    assert (spec.axes["batch_size"], spec.axes["exchange.average"]) == ((64,), ("gradients", "weights"))
    assert (spec.objective.threshold, spec.name) == (1.5, "a = b")
    assert spec.axes["learning_rate"] == (0.1, 0.2, 0.3)


def test_the_last_of_two_overrides_counts(tmp_path: Path) -> None:
    assert load(tmp_path, SHORT, "repeats=2", "repeats=3").repeats == 3


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("trial.images", "--set: 'trial.images' is no assignment; write it like trial.images=10240"),
        ("=3", "--set: '=3' is no assignment; write it like trial.images=10240"),
        ("trial.=3", "--set: 'trial.=3' is no assignment; write it like trial.images=10240"),
        ("name.first=x", "--set name.first: there is no mapping name to set it in; correct it"),
        (
            "trial.images=[1",
            "--set trial.images line 1: expected ',' or ']', but got '<stream end>'; correct the YAML there",
        ),
        ("trial.imagse=3", "trial.imagse: unknown key; did you mean images?"),
        ("trial.images=few", "trial.images: 'few' is no number; give a whole number"),
    ],
)
def test_overrides_that_cannot_be_made_are_refused(tmp_path: Path, override: str, line: str) -> None:
    assert fault(tmp_path, SHORT, override) == line


def test_nothing_can_be_set_in_a_file_without_a_mapping(tmp_path: Path) -> None:
    assert fault(tmp_path, "", "name=x") == "--set name: there is no mapping in the file to set it in; correct it"


def test_an_assignment_has_its_value_read_as_yaml() -> None:
    assert split_assignment(" workers = [1, 1e-3]", "") == ("workers", [1, 0.001])
    assert split_assignment("note=a=b", "") == ("note", "a=b")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "spec: expected a mapping with name and space, got nothing; see docs/spec.md"),
        ("- 1", "spec: expected a mapping with name and space, got list; see docs/spec.md"),
        ("name: [x\nspace: {", " line 2: expected ',' or ']', but got ':'; correct the YAML there"),
        ("name: x\n\tspace: 1", " line 2: found character '\\t' that cannot start any token; correct the YAML there"),
        ("name: x\nname: y", ' line 2: found duplicate key "name"; keep one of them'),
        (
            "name: x\nspace:\n  seed: [1]\n  seed: [2]",
            ' line 4: found duplicate key "seed"; keep one of them',
        ),
        ("name: x\n---\nname: y", " line 2: but found another document; correct the YAML there"),
        (
            "name: !!python/object/apply:os.system [ls]",
            " line 1: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/object/apply:os.system'; correct the YAML there",
        ),
        ("name: 2001-99-99", ": cannot be read as YAML (month must be in 1..12); correct the YAML"),
        ("[" * 20_000, ": cannot be read as YAML (maximum recursion depth exceeded); correct the YAML"),
        (b"name: caf\xe9", ": is no UTF-8 text; save it as UTF-8"),
    ],
)
def test_files_that_are_no_yaml_mapping_are_refused_with_the_place(
    tmp_path: Path, text: str | bytes, line: str
) -> None:
    assert fault(tmp_path, text) == line


def test_control_characters_are_refused_in_one_line(tmp_path: Path) -> None:
    assert "unacceptable character #x0000" in fault(tmp_path, "name: x\x00")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"name": "x",\n}', " line 2: Expecting property name enclosed in double quotes; correct the JSON there"),
        ('{"name": "x", "name": "y"}', ": found key 'name' more than once; keep one of them"),
        (
            '{"name": "x", "space": {"seed": [1], "seed": [2]}}',
            ": found key 'seed' more than once; keep one of them",
        ),
        (
            '{"name": "x", "space": {"learning_rate": [NaN]}}',
            "space.learning_rate: nan is not finite; give a finite number",
        ),
    ],
)
def test_files_that_are_no_json_are_refused_with_the_place(tmp_path: Path, text: str, line: str) -> None:
    assert fault(tmp_path, text, name="spec.json") == line


@pytest.mark.parametrize("text", ["[" * 100_000, '{"name": ' + "9" * 5000 + "}"])
def test_json_beyond_what_python_reads_is_refused(tmp_path: Path, text: str) -> None:
    assert fault(tmp_path, text, name="spec.json").startswith(": cannot be read as JSON (")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none.yaml", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(SpecError) as caught:
            load_spec(path)
        assert caught.value.problems == [f"{path}: cannot be read ({reason}); give the path of a spec file"]


_TAGS = ["!!int ", "!!timestamp ", "!!bool ", "!!binary ", "2001-12-14t21:59:43Z", "&a ", "*a", "<<: ", "? ", "- "]
_SIGNS = [": ", "\n", "\n  ", "---", *"{}[],~|>'\"#x\x00", "0x", ".inf", "1e5"]


@given(st.lists(st.sampled_from([*_TAGS, *_SIGNS]), max_size=12).map("".join))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    problems = ["spec.yaml: read"]
    try:
        parse_yaml(text, "spec.yaml")
    except SpecError as error:
        problems = error.problems
    (line,) = problems
    assert line.startswith("spec.yaml")
    assert "\n" not in line


def test_a_budget_that_is_set_takes_the_place_of_the_files(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text("name: mine\ntrial: {steps: 20, batch_size: 16}\nspace: {workers: [1]}\n")
    spec = load_spec(path, ["trial.images=640", "trial.global_batch_size=32"])
    assert isinstance(spec.trial, TrainingConfig)
    assert (spec.trial.images, spec.trial.steps) == (640, None)
    assert (spec.trial.global_batch_size, spec.trial.batch_size) == (32, None)
    assert (
        load_spec(path, ["trial.images=640", "trial.steps=null"]).trial == load_spec(path, ["trial.images=640"]).trial
    )
