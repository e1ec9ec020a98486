"""`sweeper import`, from its command line to the store."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sweeper.cli.main import main
from sweeper.plan.trial import TrialState
from sweeper.store.store import open_store


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'sweeps.db'}"


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    """Two runs in different layouts, the second diverged."""
    first, second = tmp_path / "0.5_lr_2w.txt", tmp_path / "0.1_lr_4w.csv"
    first.write_text("0.5 2.5\n1 2\n1.2 9x\n1.5 1\nAvg iter time = 0.5 seconds\n")
    second.write_text("step,images,time,loss\n1,64,0.5,2.5\n2,128,1,nan\n")
    return [first, second]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main(["import", *map(str, arguments)])
    captured = capsys.readouterr()
    return int(exit_.value.code or 0), captured.out, captured.err


def test_stores_one_trial_a_file(capsys: pytest.CaptureFixture[str], logs: list[Path], store_url: str) -> None:
    pattern = r"(?P<learning_rate>[\d.]+)_lr_(?P<workers>\d+)w"
    options = ("--pattern", pattern, "--set", "batch_size=64", "--name", "mine", "--store", store_url)
    code, out, _ = run(capsys, *logs, *options)
    store = open_store(store_url)
    (sweep,) = store.sweeps.all()
    first, second = store.trials.of(sweep.id)
    assert code == 0
    assert (sweep.name, sweep.origin, sweep.group_by) == ("mine", "import", ("workers",))
    assert out.splitlines()[-1] == f"imported 2 trials as mine, sweep {sweep.id}"
    assert first.parameters == {"workers": 2, "learning_rate": 0.5, "batch_size": 64}
    assert (first.state, first.points, first.area_seconds) == (TrialState.COMPLETED, 3, 3.125)
    assert (second.state, second.images, second.area_seconds) == (TrialState.DIVERGED, 128, None)
    assert [point.loss for point in store.attempts.points(first.id)] == [2.5, 2.0, 1.0]


def test_tells_what_became_of_each_line(capsys: pytest.CaptureFixture[str], logs: list[Path], store_url: str) -> None:
    _, out, _ = run(capsys, *logs, "--store", store_url)
    assert f"{logs[0]}: 3 points (columns), minimum loss 1.000000, area 3.125000 (loss x seconds)" in out
    assert "1 line that is not data:\n    line 5: is not two numbers: Avg iter time = 0.5 seconds" in out
    assert "1 line that could not be read: the curve lacks it:\n    line 3: is not two numbers: 1.2 9x" in out
    assert "diverged" in out


def test_shows_the_first_few_lines_that_are_no_data(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, store_url: str
) -> None:
    log = tmp_path / "run.txt"
    log.write_text("1 2\n" + "no data here\n" * 10)
    _, out, _ = run(capsys, log, "--store", store_url)
    assert "10 lines that are not data:" in out
    assert out.count("no data here") == 3
    assert "and 7 more" in out


def test_json_gives_the_account(capsys: pytest.CaptureFixture[str], logs: list[Path], store_url: str) -> None:
    code, out, _ = run(capsys, *logs, "--json", "--store", store_url)
    answer: dict[str, Any] = json.loads(out)
    first, second = answer["trials"]
    assert code == 0
    assert answer["name"] == "0.5_lr_2w"
    assert first["trial"].startswith(answer["sweep"])
    assert first["file"] == str(logs[0])
    assert (first["points"], first["minimum_loss"], first["area"]) == (3, 1.0, 3.125)
    assert (first["ignored_lines"], first["lost_lines"], first["parameters"]) == (2, 1, {"workers": 1})
    assert (second["ignored_lines"], second["minimum_loss"], second["area"]) == (0, 2.5, None)


def test_stores_nothing_unless_all_files_can_be_read(
    capsys: pytest.CaptureFixture[str], logs: list[Path], tmp_path: Path, store_url: str
) -> None:
    words = tmp_path / "words.txt"
    words.write_text("hello\nworld\n")
    code, out, err = run(capsys, *logs, words, "--store", store_url, "--json")
    error = json.loads(err)["error"]
    assert (code, out) == (1, "")
    assert set(error) == {"kind", "message", "remedy"}
    assert error["kind"] == "log-format"
    assert "words.txt" in error["message"]
    assert open_store(store_url).sweeps.all() == []


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--set", "workers=0"], "whole number"),
        (["--pattern", "("], "regular expression"),
        (["--pattern", "(?P<x>nowhere)"], "does not match"),
        (["--name", ""], "--name"),
        (["--name", "x" * 201], "--name"),
        (["--loss-key", "loss"], "--loss-key"),
    ],
)
def test_wrong_values_are_one_clear_line(
    capsys: pytest.CaptureFixture[str], logs: list[Path], store_url: str, options: list[str], word: str
) -> None:
    code, out, err = run(capsys, logs[0], *options, "--store", store_url)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert word in err


@pytest.mark.parametrize("options", [[], ["run.txt", "--format", "excel"], ["run.txt", "--threshold", "1"]])
def test_wrong_usage_has_its_own_code(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    code, _, err = run(capsys, *options)
    assert code == 2
    assert "sweeper import --help" in err


def test_a_file_name_that_is_no_text_is_imported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, store_url: str
) -> None:
    log = tmp_path / os.fsdecode(b"caf\xe9.txt")
    log.write_text("1 2\n2 1\n")
    with pytest.raises(SystemExit) as exit_:
        main(["import", str(log), "--store", store_url, "--json"])
    assert not exit_.value.code
    assert json.loads(capsys.readouterr().out)["name"] == "caf\ufffd"


def test_the_published_log_keeps_its_figures_through_the_store(
    capsys: pytest.CaptureFixture[str], store_url: str
) -> None:
    folder = os.environ.get("SWEEPER_DATA")
    if not folder:
        pytest.skip("SWEEPER_DATA is not set: the logs of other programs are not here")
    log = Path(folder) / "loss-logs" / "cifar10-k80-key-values.txt"
    _, out, _ = run(capsys, log, "--loss-key", "Actual Loss", "--origin", "first", "--store", store_url)
    assert "3000 points (key-value), minimum loss 2.029640, area 3.470216 (loss x seconds)" in out


def test_a_curve_that_lost_points_says_so_where_it_wins(
    capsys: pytest.CaptureFixture[str], logs: list[Path], store_url: str
) -> None:
    run(capsys, *logs, "--store", store_url)
    with pytest.raises(SystemExit):
        main(["best", "latest", "--store", store_url])
    out = capsys.readouterr().out
    assert f"workers 1: the winner's curve lacks points: 1 line of its log could not be read ({logs[0]})." in out
    (trial, _) = open_store(store_url).trials.of(open_store(store_url).sweeps.all()[0].id)
    assert trial.reason == f"imported from {logs[0]}; 1 of its lines could not be read"


def test_logs_without_seconds_are_ranked_over_steps(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, store_url: str
) -> None:
    for number, loss in enumerate((2.0, 1.0)):
        (tmp_path / f"run{number}.csv").write_text(f"epoch,loss,val_loss\n1,{loss},9\n2,{loss / 2},9\n")
    code, out, _ = run(capsys, *sorted(tmp_path.glob("run*.csv")), "--store", store_url)
    assert code == 0
    assert "area 1.750000 (loss x steps)" in out
    store = open_store(store_url)
    (sweep,) = store.sweeps.all()
    assert sweep.over == "steps"
    assert [trial.area_seconds for trial in store.trials.of(sweep.id)] == [None, None]
    assert [trial.seconds for trial in store.trials.of(sweep.id)] == [None, None]
    with pytest.raises(SystemExit) as exit_:
        main(["best", "latest", "--store", store_url, "--json"])
    assert not exit_.value.code
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    assert group["winner"]["area"] == 1.75


def test_runs_of_one_chart_are_told_apart(capsys: pytest.CaptureFixture[str], tmp_path: Path, store_url: str) -> None:
    chart = tmp_path / "chart.csv"
    chart.write_text('"Step","lr=0.1,bs=32 - loss","lr=0.2,bs=32 - loss"\n"1","2.5","2.25"\n"2","1.5","1.25"\n')
    run(capsys, chart, "--store", store_url)
    store = open_store(store_url)
    trials = store.trials.of(store.sweeps.all()[0].id)
    assert [trial.parameters["learning_rate"] for trial in trials] == [0.1, 0.2]
    chart.write_text('"Step","sun - loss","lake - loss"\n"1","2.5","2.25"\n"2","1.5","1.25"\n')
    run(capsys, chart, "--store", store_url)
    trials = store.trials.of(store.sweeps.all()[0].id)
    assert [trial.parameters["run"] for trial in trials] == ["sun", "lake"]


def test_what_cannot_be_read_twice_is_read(tmp_path: Path, store_url: str) -> None:
    text = "".join(f"{n} {2.5 + 1 / n}\n" for n in range(1, 20_001))
    (tmp_path / "run.txt").write_text(text)
    command = [sys.executable, "-m", "sweeper.cli", "import", "--store", store_url]
    script = (
        f"{shlex.join(command)} <(cat {tmp_path / 'run.txt'}) && cat {tmp_path / 'run.txt'} | {shlex.join(command)} -"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    store = open_store(store_url)
    assert [trial.points for sweep in store.sweeps.all() for trial in store.trials.of(sweep.id)] == [20_000, 20_000]


def test_logs_that_do_not_compare_are_told(capsys: pytest.CaptureFixture[str], tmp_path: Path, store_url: str) -> None:
    (tmp_path / "a.csv").write_text("epoch,loss\n1,2.5\n2,1.5\n")
    (tmp_path / "b.csv").write_text("step,seconds,loss\n100,1,2.5\n200,2,1.5\n")
    _, out, _ = run(capsys, tmp_path / "a.csv", tmp_path / "b.csv", "--store", store_url)
    assert "count different things as steps (epochs, steps)" in out
    assert "1 of these 2 logs have no seconds" in out


def test_a_sweeper_store_is_not_imported(capsys: pytest.CaptureFixture[str], tmp_path: Path, store_url: str) -> None:
    open_store(f"sqlite:///{tmp_path / 'theirs.db'}").close()
    _, _, err = run(capsys, tmp_path / "theirs.db", "--store", store_url)
    assert "is a Sweeper store" in err
