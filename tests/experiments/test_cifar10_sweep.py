"""The study of the paper's sweep: its small version, its recorded tables, and what it claims."""

from __future__ import annotations

import lzma
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from click.testing import CliRunner

from dashboards.figures.tables import Outcome
from experiments.cifar10_sweep import running, tables
from experiments.cifar10_sweep.__main__ import main
from experiments.cifar10_sweep.agreement import (
    Clock,
    agreement,
    agreement_by_batch,
    agreement_on,
    fates,
    judged_alike,
    published_clock,
    spearman,
)
from experiments.cifar10_sweep.drawing.by_threshold import stretches
from experiments.cifar10_sweep.drawing.heatmaps import draw_beside
from experiments.cifar10_sweep.one_seed import judged
from experiments.cifar10_sweep.published import SETTINGS, PublishedGrid, published_grids
from experiments.cifar10_sweep.recorded import Grid, Reference, Setting, Sweeps, on_all_axes, read_sweeps, references
from experiments.cifar10_sweep.winners import mean_winner, regrets
from experiments.study import Study, copy_recorded
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.spec import SweepSpec
from sweeper.spec.file import load_spec
from sweeper.store import SweepRecord
from tests.experiments.commands import redraw, run_small

FOLDER = Path(running.__file__).parent
THRESHOLD = 1.8


def study_of(into: Path, *only: str) -> Study:
    return Study(FOLDER, into, quick=False, executor="local", only=only)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of the small version."""
    return run_small(main, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the recorded result, redrawn."""
    return redraw(main, FOLDER, tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def sweeps(recorded: Path) -> Sweeps:
    return read_sweeps(study_of(recorded))


@pytest.mark.long
class TestSmallVersion:
    def test_runs_its_parts_to_their_ends(self, small: Path) -> None:
        names = ["grid-1w", "shared-2w", "shared-seeds", "reuse-shared"]
        assert list(read_sweeps(study_of(small))) == names

    def test_gives_the_best_settings_further_seeds(self, small: Path) -> None:
        found = read_sweeps(study_of(small))
        ranking = found["shared-2w"].grid(2, 0).ranking()
        assert ranking
        for seed in (1, 2):
            assert list(found["shared-seeds"].grid(2, seed).trials) == ranking

    def test_compares_what_was_pruned_with_the_grid(self, small: Path) -> None:
        found = {(one.sweep, one.workers): one for one in regrets(read_sweeps(study_of(small)))}
        assert found.keys() == {("reuse-shared", 1), ("reuse-shared", 2)}
        assert all(one.percent == 0 for one in found.values())

    def test_writes_tables_and_figures(self, small: Path) -> None:
        tables = (small / "tables.md").read_text()
        assert "| `reuse-shared` | 8 |" in tables
        assert set(os.listdir(small / "figures")) == {"threshold.svg", "taken.svg", "histogram-1w.svg"}
        names = [line.removeprefix("## ") for line in tables.splitlines() if line.startswith("## ")]
        assert names == ["taken", "winners", "regret", "thresholds", "hardware"]  # nothing beside the paper
        assert "a GPU" not in tables

    def test_goes_on_from_what_is_recorded(self, small: Path) -> None:
        before = {name: len(one.spans) for name, one in read_sweeps(study_of(small)).items()}
        ended = CliRunner().invoke(main, ["--quick", "--into", str(small), "--only", "grid", "--only", "shared"])
        assert ended.exit_code == 0, ended.output
        assert {name: len(one.spans) for name, one in read_sweeps(study_of(small)).items()} == before


class Listing(Study):
    """A study that notes which specs it would run."""

    def __init__(self, into: Path, *only: str) -> None:
        super().__init__(FOLDER, into, quick=False, executor="local", only=only)
        self.specs: dict[str, tuple[SweepSpec, bool]] = {}

    def sweep(
        self,
        spec: str,
        overrides: Sequence[str] = (),
        *,
        oversubscribe: bool = False,
        one_at_a_time: bool = False,  # noqa: ARG002 - the frame's signature
        quick: Sequence[str] = (),  # noqa: ARG002 - the frame's signature
    ) -> SweepRecord:
        written = load_spec(self.folder / spec, overrides)
        self.specs[written.name] = written, oversubscribe
        return None  # type: ignore[return-value]  # nobody looks at it


def keys_of(spec: SweepSpec) -> list[str]:
    return [trial.key for trial in plan(spec)]


class TestWhatIsRun:
    def test_seeds_are_those_of_the_reference(self, tmp_path: Path) -> None:
        listing = Listing(tmp_path, "grid", "seeds", "forecast", "area")
        running.run(listing)
        specs = {name: spec for name, (spec, _) in listing.specs.items()}
        grid, further = keys_of(specs["grid-1w"]), keys_of(specs["grids-1w"])
        assert len(grid) == 54
        assert len(further) == 4 * 54
        assert keys_of(specs["area-1w"]) == keys_of(specs["forecast-1w-seed0"]) == grid
        others = [keys_of(specs[f"forecast-1w-seed{seed}"]) for seed in (1, 2, 3, 4)]
        assert sorted(key for keys in others for key in keys) == sorted(further)

    def test_workers_that_share_a_gpu_are_ranked_over_images(self, tmp_path: Path) -> None:
        listing = Listing(tmp_path, "shared", "reuse")
        running.run(listing)
        assert {name: spec.axes["workers"] for name, (spec, _) in listing.specs.items()} == {
            "shared-2w": (2,),
            "shared-4w": (4,),
            "shared-8w": (8,),
            **{f"reuse-shared-2w-seed{seed}": (1, 2) for seed in range(5)},
            "reuse-shared": (1, 2, 4, 8),
        }
        for spec, oversubscribe in listing.specs.values():
            assert oversubscribe
            assert spec.objective.over == "images"
            assert spec.trial.exchange.method == "parameter-server"  # type: ignore[union-attr]

    @pytest.mark.parametrize(("gpus", "counts"), [(2, [2]), (4, [2, 4]), (8, [2, 4, 8])])
    def test_counts_that_have_a_gpu_each(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpus: int, counts: list[int]
    ) -> None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(gpus))))
        listing = Listing(tmp_path, "several")
        running.run(listing)
        assert list(listing.specs) == [
            *(f"several-{count}w" for count in counts),
            *(f"reuse-several-seed{seed}" for seed in range(5)),
        ]
        spec, oversubscribe = listing.specs["reuse-several-seed3"]
        assert spec.axes["workers"] == (1, *counts)
        assert (spec.trial.seed, spec.objective.over, oversubscribe) == (3, "seconds", False)  # type: ignore[union-attr]
        assert listing.specs["several-2w"][0].axes["seed"] == (0, 1, 2, 3, 4)

    def test_one_gpu_skips_the_counts_that_need_several(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
        listing = Listing(tmp_path, "several")
        running.run(listing)
        assert listing.specs == {}
        assert "Skipped the part several: it needs at least two GPUs." in capsys.readouterr().out

    def test_further_seeds_need_the_grids(self, tmp_path: Path) -> None:
        ended = CliRunner().invoke(main, ["--only", "shared-seeds", "--into", str(tmp_path)])
        assert ended.exit_code == 1
        assert "shared-4w: shared-seeds needs it" in ended.output


class TestRecordedResult:
    def test_tables_are_those_of_the_readme(self, recorded: Path) -> None:
        assert (recorded / "README.md").read_text() == (FOLDER / "README.md").read_text()

    def test_tables_stay_where_the_published_areas_are_missing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        copy_recorded(FOLDER, tmp_path)
        monkeypatch.setenv("SWEEPER_DATA", str(tmp_path))
        ended = CliRunner().invoke(main, ["--redraw", "--into", str(tmp_path)])
        assert "areas.csv not found; tables and figures that compare with the paper stay unchanged." in ended.output
        assert (tmp_path / "README.md").read_text() == (FOLDER / "README.md").read_text()

    def test_winners_follow_from_the_raw_curves(self, recorded: Path, sweeps: Sweeps) -> None:
        """Areas from zero and thresholds once more, without Sweeper's code."""
        with closing(sqlite3.connect(":memory:")) as raw:
            raw.deserialize(unpacked(recorded))
            names = dict.fromkeys(("grid-1w", "uniform-1w", "shared-2w", "shared-4w", "shared-8w"), 0)
            for name, seed in (names | {f"shared-2w-seed{seed}": seed for seed in range(1, 5)}).items():
                grid = sweeps[name].grid(sweeps[name].counts[0], seed)
                assert winner_of(raw, name, grid.over) == grid.winner()

    def test_pruning_by_area_keeps_the_grids_winner(self, sweeps: Sweeps) -> None:
        assert [one.percent for one in regrets(sweeps) if one.sweep == "area-1w"] == [0.0]

    def test_forecasts_cost_at_most_a_percent(self, sweeps: Sweeps) -> None:
        found = [one.percent for one in regrets(sweeps) if one.sweep.startswith("forecast-")]
        assert None not in found
        assert fmean(one for one in found if one is not None) <= 1.0

    def test_forecasts_with_reuse_cost_at_most_a_percent(self, sweeps: Sweeps) -> None:
        """In the grids of the same seed: one and two workers with five seeds, then one to eight workers with one."""
        found = [one for one in regrets(sweeps) if one.sweep.startswith("reuse-shared")]
        two = {(workers, seed) for workers in (1, 2) for seed in range(5)}
        assert {(one.workers, one.seed) for one in found if one.sweep != "reuse-shared"} == two
        assert [(one.workers, one.seed) for one in found if one.sweep == "reuse-shared"] == [
            (n, 0) for n in (1, 2, 4, 8)
        ]
        percents = [one.percent for one in found if one.percent is not None]
        assert len(percents) == len(found) == 14
        assert fmean(percents) <= 1.0

    def test_what_one_seed_recommends_is_as_good_as_it_says(self, sweeps: Sweeps) -> None:
        found = judged(sweeps)
        assert [(one.workers, one.over, one.seed) for one in found] == [
            (workers, over, seed)
            for workers, over in ((1, "seconds"), (1, "images"), (2, "images"))
            for seed in range(5)
        ]
        assert all(one.best in one.not_ruled_out for one in found)
        assert fmean(one.regret for one in found) <= fmean(one.stated for one in found)

    def test_pruning_trains_less_than_the_grid(self, sweeps: Sweeps) -> None:
        grid, area, forecast = (
            sweeps[name].training_s(sweeps[name].trials) for name in ("grid-1w", "area-1w", "forecast-1w-seed0")
        )
        assert forecast < area < grid

    def test_momentum_and_decay_keep_more_cells_from_learning(self, sweeps: Sweeps) -> None:
        def lost(name: str) -> int:
            ended = (Outcome.AT_CHANCE, Outcome.DIVERGED)
            grid = sweeps[name].grid(1, 0)
            return sum(grid.outcome(one) in ended for one in grid.trials)

        assert (lost("cells-plain"), lost("cells-momentum")) == (1, 11)

    def test_stricter_thresholds_make_smaller_batches_win(self, sweeps: Sweeps) -> None:
        found = [one.winner[0] for one in stretches(sweeps["grid-1w"].grid(1, 0))]
        assert found == sorted(found)
        assert found[0] < found[-1]

    def test_the_device_is_named_and_not_counted(self, recorded: Path) -> None:
        """A record has the GPU of rank 0 alone, so that nobody can tell how many there were."""
        rows = (recorded / "README.md").read_text().partition("<!-- table: hardware -->")[2].splitlines()[3:]
        assert {row.split("|")[1].strip() for row in rows if row.startswith("|")} == {"NVIDIA H200"}

    def test_batch_sizes_alone_order_the_cells_as_the_paper_did(self, sweeps: Sweeps) -> None:
        published = published_grids()
        if not published:
            pytest.skip("the published areas are not here")
        found = [agreement_by_batch(one.grid(over="steps"), published[one.workers]) for one in references(sweeps)]
        assert found == pytest.approx([0.388, 0.388, 0.525, 0.892, 0.975], abs=0.001)

    def test_a_gpu_each_is_told_from_a_shared_one(self, sweeps: Sweeps) -> None:
        names = ["1", "1, weights in ±0.05", "2, a GPU each with seed 0", "4, sharing a GPU", "8, sharing a GPU"]
        assert [one.name for one in references(sweeps)] == names
        assert references(sweeps)[2].words == "2 workers, a GPU each"  # as figures show seed 0
        assert Reference(2, False, {}).words == "2 workers, a GPU each, timed"

    def test_seconds_count_where_workers_had_a_gpu_each(self, sweeps: Sweeps) -> None:
        timed = [one for one in on_all_axes(sweeps) if one.over]
        assert [(one.name, list(one.sources), one.over) for one in timed] == [("2, a GPU each", [0], "seconds")]
        found = mean_winner(timed[0])
        assert found is not None
        assert (timed[0].grid().over, timed[0].grid().winner(), found.setting) == ("seconds", (512, 0.3), (512, 0.3))

    def test_images_are_those_of_all_attempts(self, recorded: Path, sweeps: Sweeps) -> None:
        """Once more from the loss points; attempts without a gang took another trial's curve."""
        query = (
            "SELECT sum(most) FROM (SELECT max(p.images) AS most FROM loss_point p JOIN trial t ON t.id = p.trial_id "
            "JOIN sweep s ON s.id = t.sweep_id JOIN attempt a ON a.trial_id = t.id AND a.number = p.attempt "
            "WHERE s.name = ? AND a.gang_id IS NOT NULL GROUP BY p.trial_id, p.attempt)"
        )
        with closing(sqlite3.connect(":memory:")) as raw:
            raw.deserialize(unpacked(recorded))
            for name in ("grid-1w", "area-1w", "reuse-shared", "reuse-shared-2w-seed3"):
                assert raw.execute(query, (name,)).fetchone() == (sweeps[name].images,)
        shares = [round(sweeps[name].trained_share, 2) for name in ("area-1w", "reuse-shared", "forecast-1w-seed0")]
        assert shares == [0.47, 0.25, 0.21]

    def test_sweeps_are_in_the_order_of_what_they_are_for(self, sweeps: Sweeps) -> None:
        names = list(sweeps)
        assert names[:4] == ["grid-1w", "grids-1w", "uniform-1w", "area-1w"]
        assert [one for one in names if one.startswith("shared-2w-")] == [f"shared-2w-seed{n}" for n in (1, 2, 3, 4)]
        assert names.index("shared-8w") < names.index("reuse-shared") < names.index("cells-plain")

    def test_correlations_have_their_range_over_seeds(self, sweeps: Sweeps) -> None:
        published = published_grids()
        if not published:
            pytest.skip("the published areas are not here")
        _, clocks = tables.clocks(sweeps, published)
        assert [row[3] for row in clocks] == ["0.59 (0.40 to 0.67)", "0.71", "0.56 (0.52 to 0.61)", "0.88", "0.98"]
        _, orders = tables.agreements(sweeps, published)
        assert [row[4] for row in orders if row[0] == "2, a GPU each"] == ["0.57"]

    def test_panels_have_the_range_of_colours_of_their_own_areas(self, sweeps: Sweeps) -> None:
        reference = references(sweeps)[-1]
        drawn = draw_beside(reference, PublishedGrid({(64, 0.6): 1.0, (64, 0.4): 40.0}, frozenset()))
        ours, paper = (bar.get_ylim() for bar in drawn.axes[2:])
        assert paper == pytest.approx((1.0, 40.0))
        assert 1.0 <= ours[0] < ours[1] < 2.0

    def test_no_hatch_runs_behind_an_area(self, sweeps: Sweeps) -> None:
        reference = references(sweeps)[3]
        drawn = draw_beside(reference, PublishedGrid({(128, 0.4): 273.0}, frozenset()))
        texts = {text.get_position(): text.get_bbox_patch() for text in drawn.axes[0].texts}
        grid = reference.grid()
        above = [one for one in SETTINGS if grid.outcome(one) is Outcome.ABOVE_THRESHOLD]
        assert sum(ground is not None for ground in texts.values()) == len(above) > 0
        assert drawn.axes[1].texts[0].get_bbox_patch() is not None


def test_other_studies_read_winners_without_the_dashboards(recorded: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from experiments.cifar10_sweep.recorded import read_sweeps, references
from experiments.study import Study
study = Study(Path({str(FOLDER)!r}), Path({str(recorded)!r}), quick=False, executor="local")
print([one.grid().winner() for one in references(read_sweeps(study))])
print({{"dashboards", "matplotlib", "torch"}} & sys.modules.keys())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[(512, 0.3), (512, 0.5), (16, 0.1), (16, 0.2), (16, 0.2)]", "set()"]


def unpacked(folder: Path) -> bytes:
    return lzma.decompress((folder / "result" / "sweeps.db.xz").read_bytes())


def winner_of(raw: sqlite3.Connection, sweep: str, axis: str) -> Setting | None:
    """The qualified setting with the smallest area, from the loss points alone."""
    trials = raw.execute(
        "SELECT t.id, t.attempt, json_extract(t.parameters, '$.batch_size'), "
        "json_extract(t.parameters, '$.learning_rate') FROM trial t JOIN sweep s ON s.id = t.sweep_id "
        "WHERE s.name = ? AND t.state = 'completed'",
        (sweep,),
    ).fetchall()
    areas: dict[Setting, float] = {}
    for trial, attempt, batch, rate in trials:
        query = f"SELECT {axis}, loss FROM loss_point WHERE trial_id = ? AND attempt = ? ORDER BY step"
        points = np.array(raw.execute(query, (trial, attempt)).fetchall(), dtype=float)
        at, loss = points[:, 0], points[:, 1]
        if loss.min() <= THRESHOLD:
            areas[batch, round(rate, 6)] = at[0] * loss[0] + np.trapezoid(loss, at)
    return min(areas, key=lambda one: areas[one], default=None)


def grid_of(areas: dict[Setting, float], losses: dict[Setting, float] | None = None) -> Grid:
    """A grid of completed trials with these areas, and minimum losses of 1 unless given."""
    trials = {
        one: Candidate(
            trial=f"{one}",
            parameters={"workers": 1, "batch_size": one[0], "learning_rate": one[1], "seed": 0},
            state=TrialState.COMPLETED,
            finite=True,
            area=area,
            minimum_loss=(losses or {}).get(one, 1.0),
        )
        for one, area in areas.items()
    }
    return Grid(1, 0, "steps", THRESHOLD, trials)


class TestAgreement:
    def test_order_of_cells(self) -> None:
        assert spearman([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1)
        assert spearman([1, 2, 3, 4], [40, 30, 20, 10]) == pytest.approx(-1)
        assert spearman([1, 2, 3], [1, 2, 3]) is None
        assert spearman([1, 2, 3, 4], [5, 5, 5, 5]) is None

    def test_within_batch_sizes_the_axis_does_not_matter(self) -> None:
        ours = {one: one[1] for one in SETTINGS}
        stretched = {one: area * 1000 / one[0] for one, area in ours.items()}
        theirs = PublishedGrid({one: one[1] * one[0] for one in SETTINGS}, frozenset())
        assert agreement(grid_of(ours), theirs).within == pytest.approx(1)
        assert agreement(grid_of(stretched), theirs).within == pytest.approx(1)
        overall = agreement(grid_of(stretched), theirs).overall
        assert overall is not None
        assert overall < 0

    def test_clock_is_found(self) -> None:
        steps = {one: 1000 / one[0] * (1 + one[1]) for one in SETTINGS}
        clock = Clock(0.06, 0.001)
        theirs = PublishedGrid(clock.areas(grid_of(steps)), frozenset())
        found = published_clock(grid_of(steps), theirs)
        assert found is not None
        assert (found.step_s, found.image_s) == pytest.approx((0.06, 0.001))
        assert agreement_on(found, grid_of(steps), theirs) == pytest.approx(1)

    def test_batch_sizes_alone_need_no_curve_of_ours(self) -> None:
        theirs = PublishedGrid({one: 5.0 + 100 / one[0] for one in SETTINGS[:40]}, frozenset())
        assert agreement_by_batch(grid_of(dict.fromkeys(SETTINGS[9:], 1.0)), theirs) == pytest.approx(1)
        assert agreement_by_batch(grid_of(dict.fromkeys(SETTINGS[:9], 1.0)), theirs) is None

    def test_cells_are_counted_by_what_came_of_them(self) -> None:
        qualified, above, missing = SETTINGS[:3]
        theirs = PublishedGrid({qualified: 1.0, above: 2.0}, frozenset([qualified]))
        ours = grid_of({qualified: 1.0, above: 2.0, missing: 3.0}, {qualified: 1.7, above: 1.6, missing: 1.9})
        assert fates(ours, theirs) == {
            (Outcome.QUALIFIED, Outcome.QUALIFIED): 1,
            (Outcome.ABOVE_THRESHOLD, Outcome.QUALIFIED): 1,
            (Outcome.DIVERGED, Outcome.ABOVE_THRESHOLD): 1,
        }
        assert [judged_alike(ours, theirs, limit) for limit in (2.0, 1.8, 1.65, 1.0)] == [1, 2, 1, 2]

    def test_published_areas_are_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        place = tmp_path / "shm-learn-dist" / "areas.csv"
        place.parent.mkdir()
        place.write_text(
            "workers,batch_size,learning_rate,area,min_loss_rank\n1,32,0.1,1368.328,1\n1,32,0.5,,\n1,256,0.1,9.5,\n"
        )
        monkeypatch.setenv("SWEEPER_DATA", str(tmp_path))
        found = published_grids()[1]
        assert [found.outcome(one) for one in ((32, 0.1), (32, 0.5), (256, 0.1), (16, 0.1))] == [
            Outcome.QUALIFIED,
            Outcome.DIVERGED,
            Outcome.ABOVE_THRESHOLD,
            Outcome.DIVERGED,
        ]
        monkeypatch.delenv("SWEEPER_DATA")
        assert published_grids() == {}


class TestThresholds:
    def test_a_stretch_begins_at_its_winners_minimum_loss(self) -> None:
        small, middle, large = (16, 0.1), (64, 0.1), (512, 0.1)
        grid = grid_of({small: 3.0, middle: 2.0, large: 1.0}, {small: 0.7, middle: 1.0, large: 1.6})
        found = [(one.low, one.high, one.winner) for one in stretches(grid)]
        assert found == [(0.7, 1.0, small), (1.0, 1.6, middle), (1.6, 2.35, large)]


def test_mean_winner_needs_all_seeds_to_qualify(sweeps: Sweeps) -> None:
    for reference in references(sweeps):
        found = mean_winner(reference)
        assert found is not None
        grids = [reference.grid(seed) for seed in reference.sources]
        assert all(grid.outcome(found.setting) is Outcome.QUALIFIED for grid in grids)
        if found.interval:
            assert found.interval[0] <= found.area <= found.interval[1]
