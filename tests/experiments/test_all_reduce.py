"""Sums over ranks by message size: the small version runs, and the recorded result says what the README says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.ranks import told_by_ranks
from experiments.all_reduce.__main__ import main
from experiments.all_reduce.running import BY_MPI, SIZES
from experiments.all_reduce.showing import BAR_BYTES, duration, paces, size_name, speeds
from experiments.all_reduce.speed import Speed
from experiments.study import Study, copy_recorded
from tests.cluster.network import why_no_network
from tests.experiments.commands import redraw, run_small

FOLDER = Path(__file__).parents[2] / "experiments" / "all_reduce"
MILLION = 1_000_000


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("recorded")
    copy_recorded(FOLDER, folder)
    return Study(FOLDER, folder, quick=False, executor="local")


def test_bandwidths_are_nccls_two() -> None:
    speed = Speed("cpu", "ring", 4, 8 * MILLION, (0.001, 0.004, 0.002), shared=False)
    assert speed.seconds == 0.002
    assert speed.algorithm_bandwidth == pytest.approx(4e9)
    assert speed.bus_bandwidth == pytest.approx(6e9)  # 2 * 3 / 4 of it


def test_sizes_go_from_a_kibibyte_to_a_gibibyte() -> None:
    assert [size_name(size) for size in SIZES[:3]] == ["1 KiB", "4 KiB", "16 KiB"]
    assert size_name(SIZES[-1]) == "1 GiB"
    assert BAR_BYTES in SIZES


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.0123456, "12.3 ms"), (4.2e-6, "4.2 µs"), (1e-7, "0.1 µs")]
)
def test_durations_have_a_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.long
def test_the_small_version_measures_sums_and_training(tmp_path: Path) -> None:
    run_small(main, tmp_path)
    study = Study(FOLDER, tmp_path, quick=True, executor="local")
    assert {(speed.method, speed.workers) for speed in speeds(study)} == {(method, 2) for method in BY_MPI}
    assert {pace.method for pace in paces(study)} == {"auto", "ring"}
    assert (tmp_path / "figures" / "bandwidth-cpu.svg").exists()


WRONG = """
import sys
from engine.exchange import SUMS
from experiments.all_reduce import rank
SUMS["all-reduce"] = lambda comm, staging: lambda buffer: buffer.mul_(2)
rank.main()
"""


def test_a_wrong_sum_ends_the_study_before_a_speed_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong_sum.py").write_text(WRONG)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{FOLDER.parents[1]}")
    arguments = ["--device", "cpu", "--rounds", "1", "--methods", "ring", "all-reduce", "--sizes", "4096"]
    with pytest.raises(subprocess.CalledProcessError):
        told_by_ranks(2, "wrong_sum", arguments, crowded=False)
    said = capfd.readouterr()
    assert "all-reduce: the sum of 4096 bytes is wrong on rank" in said.err
    assert "rounds" not in said.out


@pytest.mark.skipif(bool(why_no_network()), reason=why_no_network() or "there is a network")
def test_ranks_over_hosts_sum_by_every_method() -> None:
    from experiments.all_reduce.hosts import told_over, two_hosts

    arguments = ["--device", "cpu", "--rounds", "1", "--methods", *BY_MPI, "--sizes", "1024", "1048576"]
    with two_hosts() as hosts:
        rows = told_over(hosts, 4, "experiments.all_reduce.rank", arguments, crowded=True)
    assert [(row["method"], row["bytes"]) for row in rows] == [(m, size) for size in (1024, 1 << 20) for m in BY_MPI]


def test_the_tables_follow_from_the_recorded_result(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path)
    assert (tmp_path / "README.md").read_text() == (FOLDER / "README.md").read_text()


def test_the_recorded_result_has_every_size_and_method(recorded: Study) -> None:
    found = speeds(recorded)
    for workers in (2, 4):
        here = {(speed.method, speed.size) for speed in found if (speed.place, speed.workers) == ("cpu", workers)}
        assert here == {(method, size) for method in BY_MPI for size in SIZES}
    assert {speed.workers for speed in found if speed.place == "hosts"} == {2, 4}
