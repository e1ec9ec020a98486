"""Convolutions divided among ranks: the small version runs, and the recorded result says what the README says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.ranks import told_by_ranks
from engine.channel_parallel.choice import WAYS
from experiments.channel_parallel.__main__ import main
from experiments.channel_parallel.layers import KINDS, LAYERS, STRONG, WEAK, Layer
from experiments.channel_parallel.showing import BY_SAMPLES, WORKERS, Timed, plans, read_all, speedup
from experiments.study import Study, copy_recorded
from tests.experiments.commands import redraw, run_small

FOLDER = Path(__file__).parents[2] / "experiments" / "channel_parallel"


def timed(workers: int, samples: int, seconds: float, scaling: str) -> Timed:
    passes = {"forward": (seconds,), "backward": (2 * seconds, 4 * seconds, 3 * seconds)}
    return Timed("cpu", "conv3", scaling, "stationary-x", workers, samples, passes)


def test_a_speed_up_counts_samples_a_second() -> None:
    strong = [timed(1, 4, 0.4, STRONG), timed(2, 4, 0.25, STRONG)]
    assert speedup(strong, strong[1], "forward") == pytest.approx(1.6)
    weak = [timed(1, 1, 0.1, WEAK), timed(4, 4, 0.16, WEAK)]
    assert speedup(weak, weak[1], "forward") == pytest.approx(2.5)
    assert speedup(weak, weak[1], "backward") == pytest.approx(2.5)  # of the medians, three times as long


def test_samples_follow_the_kind_of_scaling() -> None:
    layer = Layer("conv", 8, 8, strong=4, weak=2)
    assert [layer.samples(STRONG, ranks) for ranks in (1, 2, 4)] == [4, 4, 4]
    assert [layer.samples(WEAK, ranks) for ranks in (1, 2, 4)] == [2, 4, 8]


def test_plans_go_on_where_samples_end() -> None:
    found = plans()
    assert list(found) == list(WORKERS)
    assert all(plan.samples * plan.channels == workers for workers, some in found.items() for plan in some)
    assert [any(plan.channels == 1 for plan in found[workers]) for workers in (256, 512)] == [True, False]


WRONG = """
from engine.channel_parallel import convolution
from experiments.channel_parallel import rank
right = convolution.ChannelParallelConv2d.forward
rank.ChannelParallelConv2d.forward = lambda self, x: right(self, x) * 1.01
rank.main()
"""


def test_a_wrong_layer_ends_the_study_before_a_speed_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong_layer.py").write_text(WRONG)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{FOLDER.parents[1]}")
    with pytest.raises(subprocess.CalledProcessError):
        told_by_ranks(2, "wrong_layer", ["--device", "cpu", "--rounds", "1", "--quick"], crowded=False)
    said = capfd.readouterr()
    assert "conv3, sample parallelism, 4 samples: is not what the whole layer computes" in said.err
    assert "forward" not in said.out


@pytest.mark.long
def test_the_small_version_measures_every_way(tmp_path: Path) -> None:
    run_small(main, tmp_path)
    found = read_all(Study(FOLDER, tmp_path, quick=True, executor="local"))
    assert {one.way for one in found if one.workers == 2} == set(WAYS)
    assert {one.way for one in found if one.workers == 1} == {BY_SAMPLES}
    assert (tmp_path / "figures" / "speedups-cpu.svg").exists()


def test_the_tables_follow_from_the_recorded_result(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path)
    assert (tmp_path / "README.md").read_text() == (FOLDER / "README.md").read_text()


def test_the_recorded_result_has_every_layer_and_way(tmp_path: Path) -> None:
    copy_recorded(FOLDER, tmp_path)
    found = read_all(Study(FOLDER, tmp_path, quick=False, executor="local"))
    here = {(one.layer, one.scaling, one.way) for one in found if (one.place, one.workers) == ("cpu", 2)}
    assert here == {(layer.name, kind, way) for layer in LAYERS for kind in KINDS for way in WAYS}
