"""The operations of exchanges: the small version runs, and the recorded result says what the README says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.exchange_phases import running
from experiments.exchange_phases.__main__ import main
from experiments.exchange_phases.operations import EXCHANGING, SERVER, Series, all_series
from experiments.study import Study, copy_recorded

FOLDER = Path(__file__).parents[2] / "experiments" / "exchange_phases"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    done = CliRunner().invoke(main, ["--quick", "--into", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    copy_recorded(FOLDER, folder)
    return folder


def series_of(folder: Path) -> dict[str, Series]:
    study = Study(FOLDER, folder, quick=False, executor="local", only=())
    found = {one.name: one for one in all_series(study, ["cpu", "gpu"])}
    study.tidy()
    return found


def test_the_small_version_measures_dummy_steps_and_training(small: Path) -> None:
    found = series_of(small)
    assert found.keys() == {"CPU, dummy", "CPU, training"}
    for series in found.values():
        server, reduced = (series.find(method, 2) for method in (SERVER, "all-reduce"))
        assert server is not None
        assert reduced is not None
        assert {"compute", "wait", "gather", "average", "update", "broadcast"} <= server.seconds.keys()
        assert server.seconds["average"] > 0
        assert "gather" not in reduced.seconds
        assert server.exchange == sum(server.seconds[name] for name in EXCHANGING if name in server.seconds)
    assert {path.name for path in (small / "figures").iterdir()} == {"operations.svg", "methods.svg"}


def test_dummy_gradients_are_as_many_as_the_network_of_report_7_has(small: Path) -> None:
    assert {row["parameters"] for row in json.loads((small / "result" / "dummy-cpu.json").read_text())} == {118_666}


def test_what_is_recorded_is_not_measured_again(small: Path) -> None:
    before = {path.name: path.read_bytes() for path in (small / "result").glob("*.json")}
    done = CliRunner().invoke(main, ["--quick", "--into", str(small)])
    assert done.exit_code == 0, done.output
    assert {path.name: path.read_bytes() for path in (small / "result").glob("*.json")} == before


def test_the_gpu_part_is_rejected_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    done = CliRunner().invoke(main, ["--only", "gpu", "--into", str(tmp_path)])
    assert done.exit_code == 1
    assert "this machine has no GPU" in done.output
    assert len(done.output.strip().splitlines()) == 1


@pytest.mark.parametrize(("gpus", "workers", "nccl"), [(0, 2, False), (1, 2, False), (2, 2, True), (2, 4, False)])
def test_nccl_is_measured_where_each_rank_has_a_gpu(gpus: int, workers: int, nccl: bool) -> None:
    place = running.Place("some", gpus)
    assert ("nccl" in place.methods(workers)) is nccl
    assert place.methods(1) == ("parameter-server",)
    assert not gpus or place.is_shared_by(workers) is (workers > gpus)


def test_the_tables_follow_from_the_recorded_result(recorded: Path) -> None:
    done = CliRunner().invoke(main, ["--redraw", "--into", str(recorded)])
    assert done.exit_code == 0, done.output
    assert (recorded / "README.md").read_text() == (FOLDER / "README.md").read_text()


def test_the_recorded_result_has_every_exchange_on_every_worker_count(recorded: Path) -> None:
    for series in series_of(recorded).values():
        assert series.counts == [1, 2, 4, 8]
        for workers in (2, 4, 8):
            assert {"parameter-server", "all-reduce", "ring", "hierarchical", "reduce-broadcast"} <= {
                row.method for row in series.rows if row.workers == workers
            }


def test_averaging_takes_longer_with_each_doubling_of_the_workers(recorded: Path) -> None:
    dummy = series_of(recorded)["CPU, dummy"]
    found = [dummy.find(SERVER, workers) for workers in (2, 4, 8)]
    seconds = [one.seconds["average"] for one in found if one]
    assert seconds == sorted(seconds)
    assert len(seconds) == 3
