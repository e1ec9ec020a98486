"""Strong and weak scaling: the small version runs, and every number of the tables follows from the store."""

from __future__ import annotations

import itertools
import json
import lzma
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from dashboards.figures.words.numbers import measure
from engine.config import SAMPLES, TrainingConfig
from experiments.scaling.__main__ import main
from experiments.scaling.measures import read_all
from experiments.scaling.workloads import engine_settings, place_of, rival_settings, workloads
from experiments.study import Study
from sweeper.plan import plan
from sweeper.spec import SweepSpec
from sweeper.spec.file import load_spec
from tests.experiments.commands import redraw, run_small

FOLDER = Path(__file__).parents[2] / "experiments" / "scaling"
HAS_RECORD = (FOLDER / "result" / "sweeps.db.xz").exists()
DATA = {"resnet-50": "fashion-mnist", "resnet-44": "fashion-mnist", "resnet-50-224": "synthetic-224", "mlp": "digits"}


@dataclass(frozen=True)
class Raw:
    """A completed trial as the store has it."""

    sweep: str
    workers: int
    batch: int  # of all workers
    seconds: float
    images: int
    steps: int
    shared: bool
    points: list[tuple[int, float]]

    @property
    def step_seconds(self) -> list[float]:
        """Of a step, from each loss point to the next."""
        ends = itertools.pairwise([(0, 0.0), *self.points])
        return [(later - seconds) / (after - step) for (step, seconds), (after, later) in ends]


def raw_trials(folder: Path, scratch: Path) -> list[Raw]:
    """Of the packed store, by SQL."""
    path = scratch / "raw.db"
    path.write_bytes(lzma.decompress((folder / "result" / "sweeps.db.xz").read_bytes()))
    with closing(sqlite3.connect(path)) as store:
        query = (
            "SELECT name, workers, parameters, seconds, images, steps, oversubscribed, trial.id, attempt FROM trial "
            "JOIN sweep ON sweep.id = sweep_id WHERE state = 'completed' ORDER BY sweep_id, position"
        )
        found = []
        for name, workers, parameters, seconds, images, steps, shared, trial, attempt in store.execute(
            query
        ).fetchall():
            given = json.loads(parameters)
            batch = given.get("global_batch_size") or workers * given["batch_size"]
            points = "SELECT step, seconds FROM loss_point WHERE trial_id = ? AND attempt = ? ORDER BY step"
            curve = store.execute(points, (trial, attempt)).fetchall()
            found.append(Raw(name, workers, batch, seconds, images, steps, bool(shared), curve))
        return found


def tables_of(folder: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of each table of a README or of tables.md, by the table's name and the column's."""
    path, mark = folder / "README.md", "<!-- table: "
    if not path.exists():
        path, mark = folder / "tables.md", "## "
    found: dict[str, list[list[str]]] = {}
    name = ""
    for line in path.read_text().splitlines():
        if line.startswith(mark):
            name = line.removeprefix(mark).removesuffix(" -->")
        elif line.startswith("<!-- end"):
            name = ""
        elif line.startswith("|") and name:
            found.setdefault(name, []).append([cell.strip() for cell in line.strip("|").split("|")])
    return {
        name: [dict(zip(header, row, strict=True)) for row in rows]
        for name, (header, _, *rows) in found.items()
        if rows
    }


@dataclass(frozen=True)
class Recomputed:
    """The tables of a folder beside its raw trials; `batches` of all workers are by place, network, kind and workers.

    `bases` are the smallest worker count of each place, network and kind that has a throughput, and that.
    """

    raw: list[Raw]
    tables: dict[str, list[dict[str, str]]]
    batches: dict[tuple[str, ...], int]
    bases: dict[tuple[str, ...], tuple[int, float]]

    def trials(self, line: dict[str, str], by: str) -> list[Raw]:
        """Those of a line's setting, none that shared cores if there are others."""
        named = [one for one in self.raw if one.sweep == f"{by}-{line['network']}-{place_in(line)}"]
        wanted = (workers_in(line), self.batch(line))
        found = [one for one in named if (one.workers, one.batch) == wanted]
        return [one for one in found if not one.shared] or found

    def batch(self, line: dict[str, str]) -> int:
        """Images of all workers in a step of a line."""
        first = self.batches[series_in(line)]
        return first * workers_in(line) if line["scaling"] == "weak" else first


def workers_in(line: dict[str, str]) -> int:
    return int(line["workers"].rstrip("*"))


def place_in(line: dict[str, str]) -> str:
    return line["ranks on"].lower().replace(" ", "-")


def series_in(line: dict[str, str]) -> tuple[str, ...]:
    return line["ranks on"], line["network"], line["scaling"]


def samples_in(line: dict[str, str]) -> int:
    return SAMPLES[DATA[line["network"]]]


def dollars_of(seconds: float, line: dict[str, str]) -> float:
    """At the prices that the README states."""
    return seconds / 3600 * workers_in(line) * (0.04 if line["ranks on"] == "CPU" else 3.0)


def pace(found: list[Raw]) -> float:
    """Images a second; 0 where there is no trial."""
    return median(one.images / one.seconds for one in found) if found else 0.0


def check_tables(folder: Path, scratch: Path) -> None:
    """Recompute every measured number of the tables by plain formulas."""
    tables = tables_of(folder)
    of = Recomputed(raw_trials(folder, scratch), tables, {}, {})
    assert tables["speeds"]
    for line in tables["speeds"]:
        share = int(line["global batch"]) // (workers_in(line) if line["scaling"] == "weak" else 1)
        assert of.batches.setdefault(series_in(line), share) == share
        check_speed(line, of)
    for line in tables["epochs"]:
        check_epoch(line, of)
    for line in tables.get("forecasts", []):
        check_forecast(line, of)


def check_speed(line: dict[str, str], of: Recomputed) -> None:
    ours, theirs = of.trials(line, "engine"), of.trials(line, "ddp")
    assert line["workers"].endswith("*") == any(one.shared for one in (*ours, *theirs))
    assert line["images/s"] == written(ours)
    assert line["DDP: images/s"] == written(theirs)
    if not ours:
        assert {line[name] for name in ("step, s", "steps", "speed-up", "efficiency")} == {"–"}
        return
    speed, rival = pace(ours), pace(theirs)
    assert line["step, s"] == measure(int(line["global batch"]) / speed)
    assert line["steps"] == str(sum(one.steps for one in ours))
    count, slowest = of.bases.setdefault(series_in(line), (workers_in(line), speed))
    assert line["speed-up"] == f"{speed / slowest:.2f}"
    assert line["efficiency"] == f"{speed / slowest * count / workers_in(line):.0%}"
    assert line["the engine's images/s over DDP's"] == (f"{speed / rival:.2f}" if rival else "–")


def written(found: list[Raw]) -> str:
    if not found:
        return "–"
    steps = [seconds for one in found for seconds in one.step_seconds]
    return f"{measure(pace(found))} ± {50 * (max(steps) - min(steps)) / median(steps):.0f} %"


def check_epoch(line: dict[str, str], of: Recomputed) -> None:
    for by, time, cost in (("engine", "epoch, s", "cost, $"), ("ddp", "DDP: epoch, s", "DDP: cost, $")):
        rate = pace(of.trials(line, by))
        seconds = samples_in(line) / rate if rate else 0.0
        assert line[time] == (measure(seconds) if rate else "–")
        assert line[cost] == (measure(dollars_of(seconds, line)) if rate else "–")
    count, slowest = of.bases[series_in(line)]
    assert line["ideal, s"] == measure(samples_in(line) / slowest * count / workers_in(line))


def check_forecast(line: dict[str, str], of: Recomputed) -> None:
    """What follows from the predicted step, whose four digits are known."""
    step, _, interval = line["predicted step, s"].partition(" (")
    low, _, high = interval.rstrip(")").partition(" to ")
    assert number(low) <= number(step) <= number(high)
    batch, seconds = of.batch(line), samples_in(line) * number(step) / of.batch(line)
    assert number(line["images/s"]) == pytest.approx(batch / number(step), rel=2e-3)
    assert number(line["epoch, s"]) == pytest.approx(seconds, rel=2e-3)
    assert number(line["cost, $"]) == pytest.approx(dollars_of(seconds, line), rel=2e-3)
    rate = pace(of.trials(line, "engine"))
    assert line["measured step, s"] == (measure(batch / rate) if rate else "–")
    over = line["measured over predicted"]
    assert over == "–" if not rate else float(over) == pytest.approx(batch / rate / number(step), abs=6e-3, rel=2e-3)


def number(text: str) -> float:
    """What `measure` has written."""
    scale = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1])
    return float(text[:-1]) * scale if scale else float(text)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_small(main, tmp_path_factory.mktemp("small"))


@pytest.mark.long
def test_the_small_version_measures_both_kinds_and_the_rival(small: Path, tmp_path: Path) -> None:
    (found,) = read_all(Study(FOLDER, small, quick=True, executor="local"))
    assert (found.place, found.network, found.samples) == ("cpu", "mlp", SAMPLES["digits"])
    assert found.table.kind == "weak and strong"
    assert set(found.rows("weak", engine=True)) == set(found.rows("strong", engine=True)) == {1, 2, 4}
    assert set(found.rows("weak", engine=False)) == set(found.rows("strong", engine=False)) == {2}
    assert found.steps_of("strong", 4, engine=True) == found.steps_of("weak", 4, engine=True)  # the same trial
    assert (small / "figures" / "cpu-mlp.svg").exists()
    check_tables(small, tmp_path)


@pytest.mark.long
def test_both_see_the_same_images_with_the_same_weights(small: Path, tmp_path: Path) -> None:
    raw_trials(small, tmp_path)
    query = (
        "SELECT loss_point.step, loss_point.images, loss FROM loss_point "
        "JOIN trial ON trial.id = trial_id AND trial.attempt = loss_point.attempt JOIN sweep ON sweep.id = sweep_id "
        "WHERE name = ? AND workers = 2 ORDER BY trial.position, step"
    )
    with closing(sqlite3.connect(tmp_path / "raw.db")) as store:
        ours, theirs = (store.execute(query, (f"{by}-mlp-cpu",)).fetchall() for by in ("engine", "ddp"))
    assert len(ours) == 2 * 6  # a point for each step, weak and strong
    assert [point[:2] for point in ours] == [point[:2] for point in theirs]
    assert [point[2] for point in ours] == pytest.approx([point[2] for point in theirs], rel=1e-3)


@pytest.mark.skipif(not HAS_RECORD, reason="nothing is recorded yet")
def test_the_tables_follow_from_the_recorded_result(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path / "recorded")
    assert (tmp_path / "recorded" / "README.md").read_text() == (FOLDER / "README.md").read_text()
    check_tables(tmp_path / "recorded", tmp_path)


def spec_of(name: str, settings: dict[str, Any]) -> SweepSpec:
    values = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in settings.items()]
    return load_spec(FOLDER / name, values)


@pytest.mark.parametrize("gpus", [0, 1, 2, 8])
def test_each_workload_is_a_sweep_of_both_kinds_by_the_engine_and_by_ddp(gpus: int) -> None:
    place = place_of(gpus)
    for load in workloads(gpus, quick=False):
        ours = spec_of("engine.yaml", engine_settings(load, place))
        theirs = spec_of("ddp.yaml", rival_settings(load, place))
        configs = [(trial.workers, trial.config) for trial in plan(ours)]
        batches = {config.global_batch(count) for count, config in configs if isinstance(config, TrainingConfig)}
        assert load.strong in batches
        assert {load.weak * count for count in load.weak_counts} <= batches
        assert all(workers <= gpus for workers, _ in configs if gpus)
        assert {one.resources.dollars_per_worker_hour for one in (ours, theirs)} == {3.0 if gpus else 0.04}
        assert load.samples == SAMPLES[load.data]
        assert len(plan(theirs)) == len(load.settings(load.rival_counts))


def test_four_workers_with_both_batches_are_one_trial() -> None:
    load = workloads(0, quick=False)[1]
    trials = plan(spec_of("engine.yaml", engine_settings(load, "cpu")))
    assert [trial.workers for trial in trials] == [1, 1, 2, 2, 4, 8, 8]
