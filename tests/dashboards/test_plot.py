"""`sweeper plot` from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dashboards.figures import FIGURES
from sweeper.cli.main import main
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import Store, SweepRecord
from tests.dashboards.figures.scaling.measuring import trained
from tests.dashboards.sweeps import curve, evaluated, run, submit, with_gang


@pytest.fixture
def sweep(store: Store) -> SweepRecord:
    """Twelve trials on two worker counts."""
    space = {"learning_rate": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "workers": [1, 2]}
    sweep_id = submit(store, space, name="two by two")
    for trial in store.trials.of(sweep_id):
        points, attempt = curve(4.0 / trial.workers, 1.5), store.attempts.claim(trial.id)
        assert attempt is not None
        with_gang(store, trial, attempt)
        store.attempts.add_points(trial.id, attempt, points)
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points), phases={"compute": 1.0})
    swept = store.sweeps.find(sweep_id)
    for trial in store.trials.of(swept.id):
        evaluated(store, trial.id, 0.5, 0.75)
    return swept


@pytest.fixture
def call(url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Runs `sweeper plot ...` in the test's folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SWEEPER_STORE", url)

    def called(*arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(["plot", *arguments])
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return called


@pytest.mark.parametrize("kind", [figure.name for figure in FIGURES.values() if not figure.compares])
@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_figures_are_written_in_all_formats(
    call: Any, sweep: SweepRecord, kind: str, suffix: str, start: bytes
) -> None:
    assert call(kind, sweep.id, "-o", f"out/figure.{suffix}") == (0, f"out/figure.{suffix}\n", "")
    assert Path(f"out/figure.{suffix}").read_bytes().startswith(start)


@pytest.mark.usefixtures("sweep")
def test_a_figure_follows_links_and_goes_to_pipes_and_devices(call: Any, tmp_path: Path) -> None:
    (tmp_path / "there.svg").write_text("old")
    (tmp_path / "link.svg").symlink_to("there.svg")
    assert call("heatmap", "latest", "-o", "link.svg")[0] == 0
    assert (tmp_path / "link.svg").is_symlink()
    drawn = (tmp_path / "there.svg").read_text()
    assert drawn.startswith("<?xml")
    assert call("heatmap", "latest", "-o", "-", "--format", "svg") == (0, drawn, "")
    code, out, err = call("heatmap", "latest", "-o", "-", "--format", "svg", "--json")
    assert (code, out, json.loads(err)["figure"]) == (0, drawn, "-")
    assert call("heatmap", "latest", "-o", "/dev/null", "--format", "png") == (0, "/dev/null\n", "")
    for name in ("-", "/dev/null"):
        told = f"error: {name}: its name says no format; add --format png|svg|pdf\n"
        assert call("heatmap", "latest", "-o", name) == (1, "", told)


@pytest.mark.usefixtures("sweep")
def test_a_format_goes_before_the_files_ending(call: Any) -> None:
    assert call("heatmap", "latest", "--format", "svg") == (0, "two-by-two-heatmap.svg\n", "")
    assert call("heatmap", "latest", "--format", "pdf", "-o", "plain") == (0, "plain\n", "")
    assert Path("plain").read_bytes().startswith(b"%PDF")


@pytest.mark.usefixtures("sweep")
def test_the_default_file_has_the_sweeps_name(call: Any) -> None:
    assert call("curves", "two by two") == (0, "two-by-two-curves.png\n", "")
    assert Path("two-by-two-curves.png").is_file()


def test_two_sweeps_are_compared_over_the_axis_of_the_first(call: Any, store: Store, sweep: SweepRecord) -> None:
    run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0), name="by images", over="images")
    code, out, err = call("compare", "by images", sweep.id, "-o", "both.svg")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "space.learning_rate: [0.1] before, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6] after",
        'objective.over: "images" before, "seconds" after',
        "space.workers: null before, [1, 2] after",
        "both.svg",
    ]
    assert "area over images" in Path("both.svg").read_text()


def test_unlike_thresholds_are_compared_where_it_is_allowed(call: Any, store: Store, sweep: SweepRecord) -> None:
    run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0), name="strict", threshold=0.5)
    code, _, err = call("compare", "strict", sweep.id, "-o", "both.svg")
    assert (code, "their thresholds are 0.5 and" in err) == (1, True)
    code, out, _ = call("compare", "strict", sweep.id, "-o", "both.svg", "--allow-unlike", "--json")
    assert code == 0
    assert {"field": "objective.threshold", "first": 0.5, "second": 1.8} in json.loads(out)["differences"]


def test_json_says_what_was_written(call: Any, sweep: SweepRecord) -> None:
    code, out, _ = call("heatmap", "latest", "--json")
    assert code == 0
    assert json.loads(out) == {"figure": "two-by-two-heatmap.png", "sweep": sweep.id, "kind": "heatmap"}


def test_threshold_and_axis_are_taken(call: Any, sweep: SweepRecord) -> None:
    assert call("histogram", sweep.id, "-o", "default.svg")[0] == 0
    assert call("histogram", sweep.id, "-o", "other.svg", "--threshold", "1.0", "--over", "images")[0] == 0
    assert "none of 6 qualified" in Path("other.svg").read_text()
    assert "none of 2 qualified" not in Path("default.svg").read_text()


def test_accuracies_that_there_are_not_are_a_clear_error(call: Any, store: Store) -> None:
    run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0), name="bare")
    code, out, err = call("accuracy", "bare", "-o", "a.png")
    assert (code, out) == (1, "")
    assert err == (
        "error: sweep 'bare': none of its trials was evaluated on the test set; "
        "set trial.evaluate_every in its spec, and run it again\n"
    )
    assert not Path("a.png").exists()


def test_another_suffix_is_refused_before_anything_is_read(call: Any) -> None:
    code, out, err = call("heatmap", "no such sweep", "-o", "a.jpg")
    assert (code, out) == (1, "")
    assert err == "error: a.jpg: is no figure file, its name must end in one of .png, .svg, .pdf; use -o a.png\n"


def test_errors_are_json_where_asked_for(call: Any, sweep: SweepRecord) -> None:
    code, _, err = call("heatmap", f"not-{sweep.id}", "--json")
    assert code == 1
    assert json.loads(err)["error"]["kind"] == "not-found"


def test_drawing_makes_no_store(call: Any, tmp_path: Path) -> None:
    code, _, err = call("heatmap", "none", "--store", f"sqlite:///{tmp_path}/typo.db")
    assert code == 1
    assert "there is no such file" in err
    assert not (tmp_path / "typo.db").exists()


def test_an_unwritable_place_is_a_clear_error(call: Any, sweep: SweepRecord) -> None:
    code, _, err = call("heatmap", sweep.id, "-o", "sweeper.db/a.png")
    assert code == 1
    assert err.startswith("error: sweeper.db/a.png: cannot be written (")


@pytest.mark.usefixtures("sweep")
def test_errors_and_epochs_are_drawn_where_a_figure_has_them(call: Any) -> None:
    assert call("accuracy", "latest", "-o", "e.svg", "--error", "--over", "epochs")[0] == 0
    drawn = Path("e.svg").read_text()
    assert "error, share of the test set wrong" in drawn
    assert "epochs" in drawn
    assert call("curves", "latest", "-o", "c.svg", "--over", "epochs")[0] == 0
    for kind in ("heatmap", "scaling"):
        assert call(kind, "latest", "--over", "epochs")[0] == 2
    assert call("curves", "latest", "--error")[0] == 2


def test_unknown_kinds_and_axes_are_wrong_usage(call: Any, sweep: SweepRecord) -> None:
    assert call("pie", sweep.id)[0] == 2
    assert call("heatmap", sweep.id, "--over", "moons")[0] == 2


def test_help_loads_no_matplotlib_and_drawing_no_pyplot(url: str, sweep: SweepRecord, tmp_path: Path) -> None:
    code = f"""
import sys
import dashboards.plot
assert not [name for name in sys.modules if name.startswith("matplotlib")]
dashboards.plot.plot(["heatmap", {sweep.id!r}, "--store", {url!r}, "-o", "a.png"], standalone_mode=False)
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=120)


def test_scaling_takes_rivals_accuracies_and_predictions(call: Any, store: Store) -> None:
    trained(store, {"batch_size": [64], "workers": [1, 2]}, name="mine", accuracies=lambda _: (0.25, 0.75))
    trained(store, {"global_batch_size": [64], "workers": [1, 2]}, name="rival")
    asked = ("--accuracy", "0.5", "--forecast", "4,8", "--with", "rival", "--dollars-per-worker-hour", "2")
    assert call("scaling", "mine", "-o", "s.svg", *asked) == (0, "s.svg\n", "")
    drawn = Path("s.svg").read_text()
    for words in (
        "mine, weak",
        "rival, strong",
        "predicted",
        "s to accuracy 0.5",
        "training cost, $",
        "training time, s",
    ):
        assert words in drawn
    for option, value in (("--accuracy", "0"), ("--accuracy", "1.1"), ("--accuracy", "nan"), ("--forecast", "0")):
        code, _, err = call("scaling", "mine", option, value)
        assert (code, len(err.splitlines())) == (2, 1)
    code, _, err = call("scaling", "mine", "--with", "nobody")
    assert (code, "nobody" in err) == (1, True)
