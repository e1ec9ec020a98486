"""The operations of exchanges: the small version runs, and the recorded result says what the README says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.exchange_phases import running
from experiments.exchange_phases.__main__ import main
from experiments.exchange_phases.drawing import draw_methods, draw_operations
from experiments.exchange_phases.operations import EXCHANGING, SERVER, Series, all_series
from experiments.study import Study, copy_recorded
from tests.experiments.commands import run_small

FOLDER = Path(__file__).parents[2] / "experiments" / "exchange_phases"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_small(main, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    copy_recorded(FOLDER, folder)
    return folder


def series_of(folder: Path) -> dict[str, Series]:
    study = Study(FOLDER, folder, quick=False, executor="local", only=())
    found = {one.name: one for one in all_series(study)}
    study.tidy()
    return found


@pytest.mark.long
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
    assert "## report" not in (small / "tables.md").read_text()  # it has four workers


@pytest.mark.long
def test_dummy_gradients_are_as_many_as_the_network_of_report_7_has(small: Path) -> None:
    assert {row["parameters"] for row in json.loads((small / "result" / "dummy-cpu.json").read_text())} == {118_666}


@pytest.mark.long
def test_what_is_recorded_is_not_measured_again(small: Path) -> None:
    before = {path.name: path.read_bytes() for path in (small / "result").glob("*.json")}
    done = CliRunner().invoke(main, ["--quick", "--into", str(small)])
    assert done.exit_code == 0, done.output
    assert {path.name: path.read_bytes() for path in (small / "result").glob("*.json")} == before


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
    found = series_of(recorded)
    assert list(found) == [f"{place}, {kind}" for place in ("CPU", "GPU", "2 GPUs") for kind in ("dummy", "training")]
    for series in found.values():
        assert series.counts == [1, 2, 4, 8]
        for workers in (2, 4, 8):
            assert {"parameter-server", "all-reduce", "ring", "hierarchical", "reduce-broadcast"} <= {
                row.method for row in series.rows if row.workers == workers
            }


def test_nccl_alone_leaves_out_the_hosts_memory(recorded: Path) -> None:
    rows = [row for series in series_of(recorded).values() for row in series.rows if row.workers > 1]
    direct = {(row.place, row.workers, row.method) for row in rows if row.messages == "direct"}
    assert direct == {("2-gpus", 2, "nccl")}


def test_averaging_takes_longer_with_each_doubling_of_the_workers(recorded: Path) -> None:
    for series in series_of(recorded).values():
        seconds = averages(series)
        assert seconds == sorted(seconds)


def test_averaging_grows_linearly_on_cpus_alone(recorded: Path) -> None:
    found = series_of(recorded)
    assert growth(averages(found["CPU, dummy"])) == pytest.approx(1, abs=0.15)
    assert growth(averages(found["2 GPUs, dummy"])) < 0.5


def test_a_further_gradient_takes_less_in_training_on_cpus(recorded: Path) -> None:
    found = series_of(recorded)
    slopes = [averages(found[f"CPU, {kind}"]) for kind in ("dummy", "training")]
    assert [1e3 * (one[2] - one[0]) / 6 for one in slopes] == pytest.approx([0.12, 0.09], abs=0.005)


def averages(series: Series) -> list[float]:
    """Seconds of averaging on 2, 4 and 8 workers."""
    found = [series.find(SERVER, workers) for workers in (2, 4, 8)]
    assert None not in found
    return [one.seconds["average"] for one in found if one]


def growth(seconds: list[float]) -> float:
    """Seconds for each further gradient from 4 to 8 workers, over those from 2 to 4."""
    return (seconds[2] - seconds[1]) / 4 / ((seconds[1] - seconds[0]) / 2)


def test_the_server_stays_below_the_slowest_exchange_on_gpus(recorded: Path) -> None:
    rows = [row for series in series_of(recorded).values() for row in series.rows if row.place == "2-gpus"]
    assert max(row.exchange for row in rows if row.method == SERVER) < 1.4e-3
    assert 1.6e-3 < max(row.exchange for row in rows) < 1.7e-3


def test_the_server_is_fastest_for_eight_ranks_that_train_on_one_gpu(recorded: Path) -> None:
    rows = [row for row in series_of(recorded)["GPU, training"].rows if row.workers == 8]
    assert min(rows, key=lambda row: row.exchange).method == SERVER


@pytest.mark.parametrize("place", ["4-gpus", "3-gpus", "16-gpus"])
def test_every_recorded_place_is_shown(recorded: Path, tmp_path: Path, place: str) -> None:
    copy_recorded(recorded, tmp_path)
    (tmp_path / "result" / "dummy-2-gpus.json").rename(tmp_path / "result" / f"dummy-{place}.json")
    names = list(series_of(tmp_path))
    assert names == [
        "CPU, dummy",
        "CPU, training",
        "GPU, dummy",
        "GPU, training",
        "2 GPUs, training",
        f"{place.replace('-gpus', ' GPUs')}, dummy",
    ]


def test_whole_exchanges_have_one_kind_of_axis(recorded: Path) -> None:
    drawn = draw_methods(list(series_of(recorded).values()))
    assert len(drawn.axes) == 6
    assert {axes.get_yscale() for axes in drawn.axes} == {"log"}


def test_axes_begin_at_the_first_count_that_has_a_value(recorded: Path) -> None:
    drawn = draw_operations(list(series_of(recorded).values()))
    gather, average, update, broadcast = drawn.axes
    assert [axes.get_xticks().tolist() for axes in drawn.axes] == [[2, 4, 8], [2, 4, 8], [1, 2, 4, 8], [2, 4, 8]]
    assert (average.get_xscale(), average.get_yscale(), average.get_ylim()[0]) == ("linear", "linear", 0)
    assert {axes.get_yscale() for axes in (gather, update, broadcast)} == {"log"}
