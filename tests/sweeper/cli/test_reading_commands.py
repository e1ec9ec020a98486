"""`sweeper list`, `show` and `best` on real stores: their JSON, their tables, their errors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import pytest
from rich.cells import cell_len

from sweeper.answers.numbers import measure, parameter
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store.attempts import Attempts
from sweeper.store.records import EvaluationRecord
from sweeper.store.store import Store

SPEC = {
    "name": "small",
    "space": {"batch_size": [64, 128], "learning_rate": [0.001, 0.5], "workers": [1, 2]},
    "objective": {"threshold": 1.8},
}


def curve(scale: float, last: float) -> list[LossPoint]:
    losses = [2.5, 2.0, last]
    return [LossPoint(i, 100 * i, scale * i, loss) for i, loss in enumerate(losses, start=1)]


def end(
    store: Store,
    trial_id: str,
    state: TrialState,
    points: Sequence[LossPoint],
    reason: str = "",
    accuracies: Sequence[float] = (),
) -> None:
    attempt = store.attempts.claim(trial_id)
    assert attempt is not None
    store.attempts.add_points(trial_id, attempt, points)
    for step, accuracy in enumerate(accuracies, start=1):
        store.attempts.add_evaluation(trial_id, attempt, EvaluationRecord(step, 100 * step, 0.5 * step, 1.0, accuracy))
    store.attempts.finish(trial_id, attempt, state, summarize(points), reason=reason)


@pytest.fixture
def small(store: Store) -> list[str]:
    """A sweep with trials in many states; of one worker two qualify, of two workers none. Ids in plan order."""
    spec = parse_spec(SPEC)
    sweep_id = store.sweeps.add(spec, plan(spec))
    ids = [trial.id for trial in store.trials.of(sweep_id)]
    end(store, ids[0], TrialState.COMPLETED, curve(4.0, 1.5))
    end(store, ids[1], TrialState.COMPLETED, curve(2.0, 1.7))
    end(store, ids[2], TrialState.COMPLETED, curve(1.0, 1.9))
    end(store, ids[3], TrialState.DIVERGED, curve(1.0, math.nan), "the loss is nan at step 3")
    end(store, ids[4], TrialState.COMPLETED, curve(0.5, 1.9))
    end(store, ids[5], TrialState.FAILED, [], "rank 1 died\nwith signal 9")
    store.attempts.claim(ids[6], scheduler_id=store.leases.begin("host", "process"))
    return [sweep_id, *ids]


@pytest.fixture
def tested(store: Store) -> list[str]:
    """A sweep whose first two trials were evaluated, of which the second wins. Ids in plan order."""
    spec = parse_spec({"name": "tested", "space": {"learning_rate": [0.1, 0.2, 0.3]}})
    sweep_id = store.sweeps.add(spec, plan(spec))
    ids = [trial.id for trial in store.trials.of(sweep_id)]
    end(store, ids[0], TrialState.COMPLETED, curve(2.0, 1.5), accuracies=[0.5, 0.875, 0.625])
    end(store, ids[1], TrialState.COMPLETED, curve(1.0, 1.5), accuracies=[0.0])
    end(store, ids[2], TrialState.COMPLETED, curve(3.0, 1.5))
    return [sweep_id, *ids]


def test_list_of_an_empty_store_is_friendly(run: Any) -> None:
    code, out, _ = run("list")
    assert code == 0
    assert out.startswith("No sweeps yet")
    assert out.count("\n") == 1
    assert json.loads(run("list", "--json")[1]) == {"sweeps": []}


def test_list_counts_trials_by_state_newest_first(run: Any, store: Store, small: list[str]) -> None:
    points = curve(1.0, 1.0)
    imported = store.sweeps.add_import("mine [red]", [({"workers": 1}, "a.log", points, summarize(points))])
    first, second = json.loads(run("list", "--json")[1])["sweeps"]
    assert (first["sweep"], first["state"], first["origin"]) == (imported, "completed", "import")
    assert (second["sweep"], second["name"], second["state"]) == (small[0], "small", "running")
    assert (second["ended"], second["trials"]) == (6, 8)
    assert second["states"] == {"completed": 4, "diverged": 1, "failed": 1, "pending": 1, "running": 1}
    assert second["created_at"].endswith("+00:00")
    code, out, _ = run("list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["sweep", imported, small[0]]
    assert "mine [red]" in out
    assert "6/8" in out
    assert "4 completed, 1 diverged, 1 failed, 1 pending, 1 running" in out


def test_show_has_the_fixed_shape(run: Any, small: list[str]) -> None:
    code, out, _ = run("show", "small", "--json")
    answer = json.loads(out)
    assert code == 0
    assert (answer["sweep"], answer["name"], answer["state"]) == (small[0], "small", "running")
    fields = {"trial", "state", "parameters", "area", "minimum_loss", "seconds", "images", "reason"}
    assert all(fields <= trial.keys() for trial in answer["trials"])
    best = answer["trials"][0]
    assert best["parameters"] == {"workers": 2, "batch_size": 64, "learning_rate": 0.001}
    assert (best["area"], best["minimum_loss"], best["seconds"], best["images"]) == (3.35, 1.9, 1.5, 300)


def test_show_has_the_accuracy_of_the_last_evaluation(run: Any, small: list[str], tested: list[str]) -> None:
    def accuracies(sweep: str) -> dict[str, float | None]:
        return {trial["trial"]: trial["accuracy"] for trial in json.loads(run("show", sweep, "--json")[1])["trials"]}

    assert accuracies("tested") == {tested[1]: 0.625, tested[2]: 0.0, tested[3]: None}
    assert accuracies("small") == dict.fromkeys(small[1:])


@pytest.mark.usefixtures("small", "tested")
def test_tables_have_a_column_of_accuracies_only_where_there_is_one(run: Any) -> None:
    lines = run("show", "tested", "--sort", "plan")[1].splitlines()
    assert lines[2].split()[-2:] == ["images", "accuracy"]
    assert [line.split()[-1] for line in lines[3:6]] == ["0.62500", "0", "-"]
    header, row = run("best", "tested")[1].splitlines()[-2:]
    assert header.split()[-2:] == ["accuracy", "qualified"]
    assert row.split()[-3:] == ["300", "0", "3/3"]
    assert "accuracy" not in run("show", "small")[1]
    assert "accuracy" not in run("best", "small")[1]


@pytest.mark.usefixtures("tested")
def test_show_and_best_read_no_curves(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[Any]:
        raise AssertionError("what they show is one row a trial")

    for name in ("points", "evaluations", "evaluations_by_trial"):
        monkeypatch.setattr(Attempts, name, refuse)
    assert run("show", "tested", "--json")[0] == 0
    assert run("best", "tested", "--json")[0] == 0


def test_show_sorts_and_puts_trials_without_a_value_last(run: Any, small: list[str]) -> None:
    def order(*options: str) -> list[str]:
        return [trial["trial"] for trial in json.loads(run("show", "small", "--json", *options)[1])["trials"]]

    ids = small[1:]
    assert order() == [ids[4], ids[2], ids[1], ids[0], ids[3], ids[5], ids[6], ids[7]]
    assert order("--sort", "loss") == [ids[0], ids[1], ids[2], ids[4], ids[3], ids[5], ids[6], ids[7]]
    assert order("--sort", "plan") == ids


def test_show_puts_bounds_after_areas_and_says_what_they_are(run: Any, store: Store) -> None:
    spec = parse_spec({"name": "mixed", "space": {"learning_rate": [0.1, 0.2, 0.3, 0.4]}})
    sweep_id = store.sweeps.add(spec, plan(spec))
    ids = [trial.id for trial in store.trials.of(sweep_id)]
    end(store, ids[0], TrialState.PRUNED, curve(0.1, 1.5), "cannot win any more")
    end(store, ids[1], TrialState.COMPLETED, curve(2.0, 2.2))
    attempt = store.attempts.claim(ids[2])
    assert attempt is not None
    summary = summarize(curve(1.0, 1.5))
    store.attempts.finish(ids[2], attempt, TrialState.COMPLETED, summary, oversubscribed=True)
    end(store, ids[3], TrialState.CANCELLED, [])

    shown = json.loads(run("show", "mixed", "--json")[1])["trials"]
    assert [one["trial"] for one in shown] == [ids[1], ids[2], ids[0], ids[3]]
    assert [one["area_is_bound"] for one in shown] == [False, False, True, False]
    bound = shown[2]["area"]
    assert bound == summarize(curve(0.1, 1.5)).area_seconds
    out = run("show", "mixed")[1]
    assert f"≥ {measure(bound)}" in out
    assert out.count("≥") == 2, "one bound, and what it means"
    assert "completed, oversubscribed" in out
    assert "the area over seconds is not ranked" in out


def test_trials_that_never_learnt_are_marked_and_counted(run: Any, store: Store) -> None:
    trial = {"model": "mlp", "data": "digits"}
    spec = parse_spec({"name": "some", "trial": trial, "space": {"learning_rate": [0.1, 0.2, 0.3]}})
    sweep_id = store.sweeps.add(spec, plan(spec))
    ids = [trial.id for trial in store.trials.of(sweep_id)]
    flat = [LossPoint(i, 100 * i, 1.0 * i, 2.3) for i in (1, 2, 3)]
    end(store, ids[0], TrialState.COMPLETED, curve(1.0, 1.5))
    end(store, ids[1], TrialState.COMPLETED, flat)
    end(store, ids[2], TrialState.DIVERGED, curve(1.0, math.inf))
    shown = {one["trial"]: one["at_chance"] for one in json.loads(run("show", "some", "--json")[1])["trials"]}
    assert shown == {ids[0]: False, ids[1]: True, ids[2]: False}
    out = run("show", "some")[1]
    assert "completed, at chance" in out
    assert "at chance: the trial never learnt" in out
    (group,) = json.loads(run("best", "some", "--threshold", "1.8", "--json")[1])["groups"]
    assert (group["trials"], group["qualified"], group["diverged"], group["at_chance"]) == (3, 1, 1, 1)
    assert "Of 3 trials 1 diverged, 1 stayed at chance." in run("best", "some", "--threshold", "1.8")[1]


@pytest.mark.usefixtures("tested")
def test_rerun_says_which_trials_it_can_repeat_and_that_there_are_none(run: Any) -> None:
    code, _, err = run("rerun", "tested")
    assert (code, "one or more of --failed, --oversubscribed, --derived" in err) == (2, True)
    kinds = {"failed": "has failed", "oversubscribed": "is oversubscribed", "derived": "is derived and of a setting"}
    for option, kind in kinds.items():
        code, _, err = run("rerun", "tested", f"--{option}")
        assert (code, f"none of its trials {kind}" in err) == (1, True)


@pytest.mark.usefixtures("small")
def test_show_keeps_what_json_does_not_know_null(run: Any) -> None:
    out = run("show", "small", "--json")[1]
    diverged = next(trial for trial in json.loads(out)["trials"] if trial["state"] == "diverged")
    assert (diverged["area"], diverged["final_loss"], diverged["minimum_loss"]) == (None, None, 2.0)
    assert "NaN" not in out


def test_show_prints_whole_lines_and_the_reasons_below(run: Any, small: list[str]) -> None:
    lines = run("show", "small")[1].splitlines()
    assert lines[0] == f"small ({small[0]}): running"
    assert lines[1] == "8 trials: 4 completed, 1 diverged, 1 failed, 1 pending, 1 running"
    assert lines[2].split("  ")[:3] == ["workers", "batch size", "learning rate"]
    assert lines[3].split() == ["2", "64", "0.001", "completed", "3.3500", "1.9000", "1.5000", "300"]
    assert lines[11:] == [
        "diverged: the loss is nan at step 3",
        f"  {small[4]} workers=1 batch_size=128 learning_rate=0.5",
        "failed: rank 1 died with signal 9",
        f"  {small[6]} workers=2 batch_size=64 learning_rate=0.5",
    ]


def test_show_tells_apart_trials_of_the_same_parameters(run: Any, store: Store) -> None:
    points = curve(1.0, 1.0)
    curves = [({"workers": 1}, f"{name}.log", points, summarize(points)) for name in ("a", "b")]
    sweep_id = store.sweeps.add_import("mine", curves)
    out = run("show", "latest")[1]
    assert f"{sweep_id}-0000" in out
    assert "imported from b.log" in out


def test_show_of_many_like_reasons_names_a_few(run: Any, store: Store) -> None:
    spec = parse_spec({"name": "many", "space": {"learning_rate": [0.1, 0.2, 0.3, 0.4, 0.5]}})
    sweep_id = store.sweeps.add(spec, plan(spec))
    for trial in store.trials.of(sweep_id):
        end(store, trial.id, TrialState.FAILED, [], "out of memory")
    out = run("show", sweep_id)[1]
    assert out.count("out of memory") == 1
    assert "and 2 more" in out


@pytest.mark.parametrize("name", ["a-name-" * 28, "日本語" * 60, "🚀🎯" * 90])
@pytest.mark.parametrize("width", [40, 60, 100])
def test_a_narrow_terminal_shows_fewer_columns_and_folds_no_number(
    run: Any, store: Store, monkeypatch: pytest.MonkeyPatch, width: int, name: str
) -> None:
    points = curve(1.234567, 1.0)
    parameters = {"workers": 1, "batch_size": 128, "learning_rate": 0.00012345, "exchange.method": "all-reduce"}
    curves = [({**parameters, "batch_size": size}, "a.log", points, summarize(points)) for size in (64, 128)]
    sweep = store.sweeps.add_import(name, curves)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for command in (["list"], ["show", sweep], ["best", sweep]):
        lines = re.sub(r"\x1b\[\d*m", "", run(*command)[1]).splitlines()
        table = lines if command == ["list"] else lines[2:]
        assert all(cell_len(line) <= width for line in table if not line.startswith(("No", "stays", "workers 1:")))
        shown = [part for line in table for part in line.split()]
        told = sweep if command == ["list"] else measure(store.trials.of(sweep)[0].area_seconds)
        assert told in shown
    assert json.loads(run("list", "--json")[1])["sweeps"][0]["name"] == name


def test_a_long_name_is_shortened_in_a_pipe_as_well(run: Any, store: Store) -> None:
    points = curve(1.0, 1.0)
    sweep = store.sweeps.add_import("日" * 100, [({"workers": 1}, "a.log", points, summarize(points))])
    header, line = run("list")[1].splitlines()
    assert line.split()[:2] == [sweep, f"{'日' * 29}…"]
    assert header.split() == ["sweep", "name", "state", "trials", "states", "created"]


def test_best_has_the_fixed_shape(run: Any, small: list[str]) -> None:
    code, out, _ = run("best", "small", "--json")
    answer = json.loads(out)
    assert code == 0
    assert {name: answer[name] for name in ("sweep", "name", "over", "threshold")} == {
        "sweep": small[0],
        "name": "small",
        "over": "seconds",
        "threshold": 1.8,
    }
    # Of one seed each nobody can tell, nor recommend anything of four trials.
    more: dict[str, Any] = {
        "derived_candidates": [],
        "settings": 4,
        "separated": None,
        "comparison": None,
        "not_compared": 0,
        "recommended": None,
    }
    few = "fewer than 6 complete trials of a group are too few to tell chance from merit"
    second = answer["groups"][0].pop("runner_up")
    assert second["trial"] == small[1]
    assert answer["groups"] == [
        {
            **more,
            "not_recommended": few,
            "qualified_settings": 2,
            "undecided": 1,
            "group": {"workers": 1},
            "trials": 4,
            "qualified": 2,
            "oversubscribed": 0,
            "diverged": 1,
            "at_chance": 0,
            "in_doubt": [],
            "best_minimum_loss": 1.5,
            "winner": {
                "trial": small[2],
                "parameters": {"workers": 1, "batch_size": 64, "learning_rate": 0.5},
                "area": pytest.approx(13.2),
                "minimum_loss": 1.7,
                "seconds": 6.0,
                "images": 300,
                "accuracy": None,
                "repeats": 1,
                "area_interval": None,
                "level": 0.95,
                "seeds": None,
                "trials": [small[2]],
                "derived_from": None,
            },
        },
        {
            **more,
            "not_recommended": None,
            "qualified_settings": 0,
            "undecided": 0,
            "runner_up": None,
            "group": {"workers": 2},
            "trials": 4,
            "qualified": 0,
            "oversubscribed": 0,
            "diverged": 0,
            "at_chance": 0,
            "in_doubt": [],
            "best_minimum_loss": 1.9,
            "winner": None,
        },
    ]


def test_best_has_the_winners_accuracy(run: Any, tested: list[str]) -> None:
    (group,) = json.loads(run("best", "tested", "--json")[1])["groups"]
    assert (group["winner"]["trial"], group["winner"]["accuracy"]) == (tested[2], 0.0)


def test_best_takes_another_threshold_and_axis(run: Any, small: list[str]) -> None:
    answer = json.loads(run("best", "small", "--json", "--threshold", "1.5", "--over", "images")[1])
    assert (answer["over"], answer["threshold"]) == ("images", 1.5)
    assert answer["groups"][0]["winner"]["trial"] == small[1]
    assert answer["groups"][0]["winner"]["area"] == 650.0


@pytest.mark.parametrize("options", [("--by", "workers,batch_size"), ("--by", "workers", "--by", "batch_size")])
@pytest.mark.usefixtures("small")
def test_best_groups_by_several_names(run: Any, options: tuple[str, ...]) -> None:
    groups = json.loads(run("best", "small", "--json", *options)[1])["groups"]
    assert [group["group"] for group in groups] == [
        {"workers": workers, "batch_size": size} for workers in (1, 2) for size in (64, 128)
    ]


def test_best_prints_a_row_for_each_group(run: Any, small: list[str]) -> None:
    lines = run("best", "small")[1].splitlines()
    assert lines[0] == f"small ({small[0]}): smallest area over seconds in each group"
    assert "threshold 1.8" in lines[1]
    assert lines[3].split() == ["1", "64", "0.5", "13.200", "1.7000", "6.0000", "300", "2/4"]
    assert lines[4].split() == ["2", "-", "-", "-", "-", "-", "-", "0/4"]
    assert lines[5] == "workers 2: none qualified; best minimum loss 1.9000"
    assert lines[6] == f"workers 2: 1 of 4 trials failed; `sweeper show {small[0]}` says why"


@pytest.mark.parametrize("cpus", [1, 1000])
def test_best_offers_to_repeat_what_this_machine_can_seat(run: Any, store: Store, cpus: int) -> None:
    resources = {"cpus_per_worker": cpus}
    spec = parse_spec({"name": "shared", "space": {"learning_rate": [0.1, 0.2]}, "resources": resources})
    sweep_id = store.sweeps.add(spec, plan(spec))
    for trial in store.trials.of(sweep_id):
        attempt = store.attempts.claim(trial.id)
        assert attempt is not None
        summary = summarize(curve(1.0, 1.5))
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summary, oversubscribed=True)
    out = run("best", "shared")[1]
    assert "2 oversubscribed trials are left out" in out
    assert ("`sweeper rerun --oversubscribed` repeats them" in out) == (cpus == 1)
    assert ("this machine has too few to repeat them" in out) == (cpus == 1000)


def test_best_without_a_threshold_says_what_that_means(run: Any, store: Store) -> None:
    points = curve(1.0, 2.4)
    store.sweeps.add_import("mine", [({"workers": 1}, "a.log", points, summarize(points))])
    out = run("best", "mine")[1]
    assert "--threshold" in out
    assert json.loads(run("best", "mine", "--json")[1])["threshold"] is None


@pytest.mark.usefixtures("small")
def test_best_refuses_unknown_names_with_the_known(run: Any) -> None:
    code, out, err = run("best", "small", "--by", "wrkers", "--json")
    error = json.loads(err)["error"]
    assert (code, out) == (1, "")
    assert error["kind"] == "spec"
    assert "did you mean workers?" in error["message"]
    assert "workers, batch_size, learning_rate" in error["message"]


@pytest.mark.parametrize("threshold", ["nan", "inf"])
@pytest.mark.usefixtures("small")
def test_best_refuses_a_threshold_that_is_not_finite(run: Any, threshold: str) -> None:
    code, _, err = run("best", "small", "--threshold", threshold)
    assert code == 2
    assert "not finite" in err


@pytest.mark.parametrize("command", ["show", "best"])
def test_an_unknown_sweep_is_a_clear_error(run: Any, command: str) -> None:
    code, out, err = run(command, "nowhere", "--json")
    error = json.loads(err)["error"]
    assert (code, out, error["kind"]) == (1, "", "not-found")
    assert set(error) == {"kind", "message", "remedy"}


@pytest.mark.parametrize(
    "arguments",
    [("show",), ("best",), ("show", "x", "--sort", "name"), ("best", "x", "--over", "miles"), ("list", "x")],
)
def test_wrong_usage_has_its_own_code(run: Any, arguments: tuple[str, ...]) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert "--help" in err


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9.361228, "9.3612"),
        (1368.328, "1368.3"),
        (1234567.8, "1234568"),
        (0.000123456, "0.00012346"),
        (-0.5, "-0.50000"),
        (0.0, "0"),
        (307200, "307200"),
        (1e30, "1.0000e+30"),
        (math.inf, "inf"),
        (None, "-"),
    ],
)
def test_measures_have_five_digits(value: float | None, text: str) -> None:
    assert measure(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.001, "0.001"), (1e-5, "0.00001"), (0.1 + 0.2, "0.3"), (2.0, "2"), (0.0, "0"), (128, "128"), ("sgd", "sgd")],
)
def test_parameters_are_as_written(value: Any, text: str) -> None:
    assert parameter(value) == text
    assert parameter(None) == "-"
