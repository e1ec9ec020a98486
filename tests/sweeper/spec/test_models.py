"""What a spec may say, and how each fault is refused: field, value, remedy."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import DATA, MODELS, TrainingConfig
from sweeper.errors import SpecError
from sweeper.guides.samplers import first_points
from sweeper.plan import plan
from sweeper.spec import Objective, Resources, SweepSpec, field_value, parse_spec, replace_field, sweepable_fields
from tests.sweeper.specs import specs


def written(space: Any = None, **fields: Any) -> dict[str, Any]:
    """A spec as a file would hold it, fine unless the arguments say otherwise."""
    return {"name": "mine", "space": {"batch_size": [16, 32]} if space is None else space, **fields}


def faults(content: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        plan(parse_spec(content), first_points)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


def test_a_name_and_a_space_are_enough() -> None:
    spec = parse_spec(written())
    assert spec.trial == TrainingConfig()
    assert spec.objective == Objective(threshold=None, over="seconds", group_by=("workers",))
    assert spec.resources == Resources(cpus_per_worker=1, gpus_per_worker=0)
    assert (spec.search.method, spec.prune.method, spec.repeats) == ("grid", "none", 1)
    assert spec.axes == {"workers": (1,), "batch_size": (16, 32)}


def test_axes_have_the_types_of_their_fields_and_workers_come_first() -> None:
    spec = parse_spec(
        written(
            {
                "learning_rate": ["0.1", 1],
                "batch_size": [16.0, "32"],
                "exchange.average": ["weights"],
                "workers": {"low": 1, "high": 3, "step": 1},
            }
        )
    )
    assert list(spec.axes.items()) == [
        ("workers", (1, 2, 3)),
        ("learning_rate", (0.1, 1.0)),
        ("batch_size", (16, 32)),
        ("exchange.average", ("weights",)),
    ]
    assert [[type(value) for value in values] for values in spec.axes.values()] == [
        [int] * 3,
        [float] * 2,
        [int] * 2,
        [str],
    ]


def test_one_value_may_stand_without_a_list() -> None:
    assert parse_spec(written({"learning_rate": 0.1})).axes["learning_rate"] == (0.1,)


def test_every_field_of_training_can_be_swept() -> None:
    expected = {"workers", "batch_size", "learning_rate", "seed", "exchange.method", "exchange.average", "points"}
    assert expected <= set(sweepable_fields())
    assert "exchange" not in sweepable_fields()
    for name in sweepable_fields():
        if name != "workers":
            field_value(TrainingConfig(), name)


def test_a_swept_batch_size_replaces_the_other_way_of_giving_it() -> None:
    config = TrainingConfig(global_batch_size=64, momentum=0.5)
    changed = replace_field(config, {"batch_size": 16, "exchange.average": "weights"})
    assert (changed.batch_size, changed.global_batch_size, changed.momentum) == (16, None, 0.5)
    assert changed.exchange.average == "weights"
    assert replace_field(changed, {"global_batch_size": 8}).batch_size is None
    assert config == TrainingConfig(global_batch_size=64, momentum=0.5)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"nam": 1}, "nam: unknown key; did you mean name?"),
        ({"repeat": 2}, "repeat: unknown key; did you mean repeats?"),
        ({"threshold": 1.8}, "threshold: unknown key; did you mean objective.threshold?"),
        ({"lerning_rate": 0.1}, "lerning_rate: unknown key; did you mean trial.learning_rate?"),
        ({"objective": {"repeats": 3}}, "objective.repeats: unknown key; did you mean repeats at the top?"),
        ({"trial": {"threshold": 1.8}}, "trial.threshold: unknown key; did you mean objective.threshold?"),
        ({"method": "tpe"}, "method: unknown key; did you mean search.method, prune.method or repeats.method?"),
        (
            {"low": 2},
            "low: unknown key; known are name, trial, space, objective, search, prune, reuse, repeats, retries, "
            "resources, limits",
        ),
        (
            {"my key": 2},
            "my key: unknown key; known are name, trial, space, objective, search, prune, reuse, repeats, retries, "
            "resources, limits",
        ),
        ({5: 2}, "5: 5 is no name of a field; remove it"),
        ({"trial": {"momentun": 0.9}}, "trial.momentun: unknown key; did you mean momentum?"),
        (
            {"trial": {"exchange": {"averages": "weights"}}},
            "trial.exchange.averages: unknown key; did you mean average?",
        ),
        ({"objective": {"treshold": 1.8}}, "objective.treshold: unknown key; did you mean threshold?"),
        ({"resources": {"cpu_per_worker": 1}}, "resources.cpu_per_worker: unknown key; did you mean cpus_per_worker?"),
        ({"space": {"batchsize": [1]}}, "space.batchsize: unknown key; did you mean batch_size?"),
        ({"space": {"exchange.averag": [1]}}, "space.exchange.averag: unknown key; did you mean exchange.average?"),
        ({"space": {"trial.momentum": [0]}}, "space.trial.momentum: unknown key; did you mean momentum?"),
        ({"space": {1: [0]}}, "space[1]: 1 is no text; put it in quotes"),
        (
            {"space": {"learning_rate": {"low": 0.1, "high": 0.2, "steps": 0.1}}},
            "space.learning_rate.steps: unknown key; did you mean step?",
        ),
    ],
)
def test_unknown_keys_are_named_with_the_nearest_known_one(fields: dict[Any, Any], fault: str) -> None:
    assert fault in faults(written() | fields)


def test_a_key_that_is_near_none_lists_them_all() -> None:
    (fault,) = faults(written({"xyz": [1]}))
    assert fault == f"space.xyz: unknown key; known are {', '.join(sweepable_fields())}"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "spec: expected a mapping with name and space, got nothing; see docs/spec.md"),
        ([1], "spec: expected a mapping with name and space, got list; see docs/spec.md"),
        ({"name": "mine"}, "space: is missing; add it"),
        ({"space": {"seed": [1]}}, "name: is missing; add it"),
        (written({}), "space: is empty; give at least one field with its values, such as learning_rate: [0.1, 0.2]"),
        (written([1]), "space: [1] is no mapping; write its keys below it, or remove it"),
        (written({"batch_size": []}), "space.batch_size: is empty; give at least one value or remove the key"),
        (written({"batch_size": None}), "space.batch_size: is empty; give at least one value or remove the key"),
        (
            written({"batch_size": [16, None]}),
            "space.batch_size: None is no single value; give numbers, names, true or false",
        ),
        (
            written({"batch_size": [[16]]}),
            "space.batch_size: [16] is no single value; give numbers, names, true or false",
        ),
        (
            written(limits=5),
            "limits: 5 is no mapping; write its keys (trial_seconds, stall_seconds) below it, or remove it",
        ),
        (written(trial=None), "trial: None is no mapping; write its keys below it, or remove it"),
        (written(name=""), "name: '': is blank; give at least one letter"),
        (written(name=5), "name: 5 is no text; put it in quotes"),
        (written(repeats=0), "repeats: 0 must be greater than 0; give a larger number"),
        (written(repeats=True), "repeats: True: expected a number, not true or false"),
        (
            written(search="grit"),
            "search.method: 'grit' is not known; use one of 'grid', 'random', 'quasi-random', 'tpe', 'gp' or 'cma-es'",
        ),
        (
            written(prune="aera"),
            "prune.method: 'aera' is not known; use one of 'none', 'area', 'forecast', 'median', 'asha' or 'hyperband'",
        ),
        (written(prune={"floor": 0.5}), "prune: a floor of 0.5 does nothing without pruning; set method to area"),
        (written(prune={"method": "area", "floor": -1}), "prune.floor: -1 must be at least 0; give a larger number"),
        (
            written(objective={"over": "hours"}),
            "objective.over: 'hours' is not known; use one of 'seconds', 'images', 'steps' or 'dollars'",
        ),
        (
            written(objective={"group_by": "seed"}),
            "objective.group_by: 'seed' is no list; write it in brackets, like [a, b]",
        ),
        (
            written(objective={"group_by": ["momentum"]}),
            "objective.group_by: 'momentum' is not swept; use one of workers, batch_size",
        ),
        (
            written(objective={"group_by": ["workers", "workers"]}),
            "objective.group_by: 'workers' is given 2 times; keep one of them",
        ),
        (written(objective={"threshold": math.inf}), "objective.threshold: inf is not finite; give a finite number"),
        (
            written(resources={"gpus_per_worker": -1}),
            "resources.gpus_per_worker: -1 must be at least 0; give a larger number",
        ),
    ],
)
def test_what_is_missing_empty_or_of_another_kind_is_refused(content: Any, fault: str) -> None:
    assert faults(content) == [fault]


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("batch_size", 0, "must be greater than 0; give a larger number"),
        ("batch_size", -16, "must be greater than 0; give a larger number"),
        ("batch_size", 1.5, "is no whole number; give one"),
        ("batch_size", "many", "is no number; give a whole number"),
        ("batch_size", math.inf, "is not finite; give a finite number"),
        ("batch_size", 10**30, "must be less than 9.22337e+18; give a smaller number"),
        ("global_batch_size", 0, "must be greater than 0; give a larger number"),
        ("learning_rate", 0.0, "must be greater than 0; give a larger number"),
        ("learning_rate", -0.1, "must be greater than 0; give a larger number"),
        ("learning_rate", math.inf, "is not finite; give a finite number"),
        ("learning_rate", math.nan, "is not finite; give a finite number"),
        ("learning_rate", "fast", "is no number; give one, such as 0.1 or 1e-3"),
        ("images", 0, "must be greater than 0; give a larger number"),
        ("images", -5, "must be greater than 0; give a larger number"),
        ("momentum", 1.0, "must be less than 1; give a smaller number"),
        ("weight_decay", -1e-9, "must be at least 0; give a larger number"),
        ("seed", -1, "must be at least 0; give a larger number"),
        ("device", "tpu", "is not known; use one of 'auto', 'cpu' or 'cuda'"),
        ("exchange.average", "hopes", "is not known; use one of 'gradients' or 'weights'"),
    ],
)
def test_values_that_cannot_be_trained_with_are_refused_in_the_trial_and_in_the_space(
    field: str, value: Any, problem: str
) -> None:
    *parent, leaf = field.split(".")
    trial = {parent[0]: {leaf: value}} if parent else {leaf: value}
    assert faults(written({"workers": [1]}, trial=trial)) == [f"trial.{field}: {value!r} {problem}"]
    assert faults(written({field: [value]})) == [f"space.{field}: {value!r} {problem}"]


@pytest.mark.parametrize("value", [True, False])
def test_a_truth_value_is_no_number(value: bool) -> None:
    assert faults(written({"learning_rate": [value]})) == [
        f"space.learning_rate: {value}: expected a number, not true or false"
    ]


@pytest.mark.parametrize("value", [0, -1, 1.5, "two", True, math.inf, math.nan])
def test_worker_counts_are_whole_numbers_from_one(value: Any) -> None:
    assert faults(written({"workers": [value]})) == [
        f"space.workers: {value!r} is not a worker count; give a whole number of at least 1"
    ]


def test_duplicates_are_named_also_where_they_are_written_differently() -> None:
    space = {"learning_rate": [0.1, 1e-1, "0.1"], "batch_size": [16, 16.0, 32, 32], "workers": [2, 2]}
    assert faults(written(space)) == [
        "space.learning_rate: 0.1 is given 3 times; keep one of them",
        "space.batch_size: 16 is given 2 times; keep one of them",
        "space.batch_size: 32 is given 2 times; keep one of them",
        "space.workers: 2 is given 2 times; keep one of them",
    ]


def test_duplicates_that_rounding_makes_are_named() -> None:
    assert "space.batch_size: 2 is given 2 times; keep one of them" in faults(
        written({"batch_size": {"low": 1, "high": 4, "count": 6}})
    )


def test_there_is_one_way_to_give_the_batch_size() -> None:
    assert faults(written({"batch_size": [16], "global_batch_size": [16]})) == [
        "space: batch_size and global_batch_size exclude each other; keep one of them"
    ]
    assert faults(written({"workers": [1]}, trial={"batch_size": 16, "global_batch_size": 16})) == [
        "trial: batch_size and global_batch_size exclude each other: keep one of them"
    ]


def test_there_is_one_way_to_say_how_long_a_trial_trains() -> None:
    assert faults(written({"images": [1000], "epochs": [1], "batch_size": [1]})) == [
        "space: images and epochs exclude each other; keep one of them"
    ]
    assert faults(written(trial={"epochs": 1, "steps": 2})) == [
        "trial: epochs and steps exclude each other: keep one of them"
    ]


def test_a_model_that_cannot_learn_the_data_is_refused_with_what_it_can() -> None:
    assert faults(written(trial={"model": "neuron", "data": "digits"})) == [
        "trial: model neuron cannot learn data digits: use one of step-function"
    ]
    assert faults(written({"data": ["digits", "step-function"]})) == [
        "trial: model alexnet-cifar cannot learn data step-function: "
        "use one of fashion-mnist, cifar10, digits, synthetic, synthetic-224 (at workers=1, data=step-function)"
    ]
    assert len(plan(parse_spec(written({"model": ["neuron"], "data": ["step-function"]})), first_points)) == 1


def test_a_group_of_fields_is_swept_by_its_members() -> None:
    fields = ("method", "average", "every", "start", "overlap", "algorithm")
    members = " or ".join(f"exchange.{name}" for name in fields)
    told = f"space.exchange: is a group of fields; write {members}"
    assert faults(written({"exchange": ["gradients"]})) == [told]


def test_workers_belong_into_the_space() -> None:
    assert faults(written(trial={"workers": 2})) == ["trial.workers: unknown key; put it below space"]
    assert faults(written(workers=[1])) == ["workers: unknown key; put it below space"]


def test_cuda_needs_gpus() -> None:
    told = ["resources.gpus_per_worker: 0 and device cuda exclude each other; give at least 1"]
    assert faults(written(trial={"device": "cuda"})) == told
    assert faults(written({"device": ["cpu", "cuda"]})) == told
    assert plan(parse_spec(written(trial={"device": "cuda"}, resources={"gpus_per_worker": 1})), first_points)


@pytest.mark.parametrize("name", ["latest", " ", "a\nb", "a\0", "x" * 201])
def test_names_that_would_not_do_are_refused(name: str) -> None:
    (fault,) = faults(written(name=name))
    assert fault.startswith("name: ")


def test_unknown_models_and_data_come_with_the_known_ones() -> None:
    own = "or package.module:factory of your own"
    assert faults(written(trial={"model": "lenet", "data": "cifar"})) == [
        f"trial.model: 'lenet': unknown name; known are {', '.join(MODELS)}, {own}",
        f"trial.data: 'cifar': unknown name; known are {', '.join(DATA)}, {own}",
    ]


def test_repeats_give_the_seeds() -> None:
    assert faults(written({"seed": [1, 2]}, repeats=2)) == [
        "repeats: 2 gives the seeds already; remove space.seed or repeats"
    ]


def test_all_faults_come_at_once() -> None:
    assert len(faults(written({"batch_size": [0], "learning_rate": []}, repeats=-1, trial={"images": 0}))) >= 2
    assert faults(written({"batch_size": [0], "learning_rate": [], "wrokers": [1]})) == [
        "space.batch_size: 0 must be greater than 0; give a larger number",
        "space.learning_rate: is empty; give at least one value or remove the key",
        "space.wrokers: unknown key; did you mean workers?",
    ]


@given(specs())
def test_a_spec_survives_json(spec: SweepSpec) -> None:
    again = parse_spec(json.loads(json.dumps(spec.model_dump(mode="json"))))
    assert again == spec
    assert again.axes == spec.axes
    assert plan(again, first_points) == plan(spec, first_points)


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["low", "high", "step", "count", "log", "method", "model", "images"]) | st.text(max_size=3),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from([*SweepSpec.model_fields, "nam"]), _ANYTHING),
    st.dictionaries(st.sampled_from(sweepable_fields()), _ANYTHING, max_size=2),
)
def test_whatever_is_written_is_planned_or_refused_line_by_line(fields: dict[str, Any], space: dict[str, Any]) -> None:
    problems = ["none: planned"]
    try:
        plan(parse_spec({"name": "mine", "space": space, **fields}), first_points)
    except SpecError as error:
        problems = error.problems
    assert problems
    assert all(": " in line and "\n" not in line for line in problems)


@pytest.mark.parametrize("name", ['实验 #1/日本 "x" <b>', "a\u3000b\u00a0c", "👩\u200d🔬", "$x$", "-"])
def test_names_of_every_language_do(name: str) -> None:
    assert parse_spec(written(name=name)).name == name


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"trial": {"model": "vgg11"}}, "model vgg11 may learn otherwise from shares of a batch; use one of "),
        (
            {"trial": {"exchange": {"average": "weights"}}},
            "exchange.average is weights; use gradients, or remove reuse",
        ),
        ({"search": "random", "trials": 2}, "search is random, whose points seldom share a global batch; use a grid"),
    ],
)
def test_shared_curves_are_refused_where_they_do_not_hold(fields: dict[str, Any], fault: str) -> None:
    (found,) = faults(written(reuse="equivalent", **fields))
    assert found.startswith(f"reuse: equivalent does not hold here: {fault}")


def test_shared_curves_of_a_command_are_refused() -> None:
    trial = {"command": ["train", "{batch_size}"]}
    assert faults(written(reuse="equivalent", trial=trial)) == [
        "reuse: equivalent is for the engine's own training, and trial is a command; remove it"
    ]


def test_curves_may_be_shared_by_some_values_of_a_swept_field() -> None:
    space = {"batch_size": [16, 32], "exchange.average": ["weights", "gradients"], "model": ["vgg11", "mlp"]}
    assert parse_spec(written(reuse="equivalent", space=space)).reuse == "equivalent"
