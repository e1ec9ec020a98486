"""`sweeper export`, and `sweeper import` of what it wrote."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas
import pyarrow.parquet as pq
import pytest

from sweeper.cli.main import main
from sweeper.store import Store
from tests.sweeper.interchange.archived_sweeps import NAME, fill, told


@pytest.fixture
def sweep(store: Store) -> str:
    return fill(store)


@pytest.mark.parametrize(
    ("file", "file_format"),
    [
        ("x.csv", "csv"),
        ("x.parquet", "parquet"),
        ("x.JSON", "json"),
        ("sqlite:///{}/x.db", "optuna"),
        ("runs", "tensorboard"),
    ],
)
def test_a_sweep_goes_from_store_to_store(
    run: Any, store: Store, sweep: str, tmp_path: Path, file: str, file_format: str
) -> None:
    target = file.format(tmp_path) if "{}" in file else str(tmp_path / file)
    options = ["--format", "tensorboard"] if file_format == "tensorboard" else []
    code, out, _ = run("export", "latest", "-o", target, *options)
    path = Path(target.removeprefix("sqlite:///"))
    assert (code, out) == (0, f"exported 16 trials of {NAME} to {path} ({file_format})\n")
    before = told(store, sweep)
    store.sweeps.delete(sweep)
    code, out, _ = run("import", target)
    assert (code, out.splitlines()[-1]) == (0, f"imported 16 trials as {NAME}, sweep {sweep}")
    assert told(store, sweep) == before


def test_json_says_what_was_written_and_read(run: Any, store: Store, sweep: str, tmp_path: Path) -> None:
    _, out, _ = run("export", sweep, "-o", str(tmp_path / "x.json"), "--json")
    heading = {"sweep": sweep, "name": NAME}
    assert json.loads(out) == {**heading, "file": str(tmp_path / "x.json"), "format": "json", "trials": 16}
    _, out, _ = run("import", str(tmp_path / "x.json"), "--json")
    (answer,) = json.loads(out)["sweeps"]
    assert answer["sweep"] != sweep
    assert (answer["kept_ids"], answer["trials"], answer["format"], answer["notes"]) == (False, 16, "json", [])
    assert store.sweeps.find(answer["sweep"]).name == NAME


def test_an_export_and_logs_are_imported_together(run: Any, sweep: str, tmp_path: Path) -> None:
    run("export", sweep, "-o", str(tmp_path / "x.csv"))
    (tmp_path / "a.txt").write_text("1 2\n2 1\n")
    code, out, _ = run("import", str(tmp_path / "x.csv"), str(tmp_path / "a.txt"), "--json")
    exported, logs = json.loads(out)["sweeps"]
    assert code == 0
    assert (exported["format"], logs["name"], len(logs["trials"])) == ("csv", "a", 1)


def test_another_name_is_one_sweeps(run: Any, store: Store, sweep: str, tmp_path: Path) -> None:
    files = [str(tmp_path / f"{name}.json") for name in "ab"]
    for file in files:
        run("export", sweep, "-o", file)
    assert run("import", files[0], "--name", "日本")[0] == 0
    assert store.sweeps.find("日本").trials == 16
    code, _, err = run("import", *files, "--name", "other")
    assert code == 1
    assert "--name: is for one sweep" in err


def test_an_export_takes_the_place_of_a_file_only_by_force(run: Any, sweep: str, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    path = tmp_path / "new" / "x.csv"
    (tmp_path / "link.csv").symlink_to(path)
    for there in (path, Path(f"{path}.meta")):
        there.write_text("old")
        for name in (path, tmp_path / "link.csv"):
            code, _, err = run("export", sweep, "-o", str(name))
            told = f"error: {there}: is there already; name a new file with -o, or replace it with --force\n"
            assert (code, err) == (1, told)
        assert there.read_text() == "old"
        if there == path:
            there.unlink()
    assert run("export", sweep, "-o", str(path), "--force")[0] == 0
    assert path.read_text().startswith("trial,workers,")
    assert sorted(file.name for file in path.parent.iterdir()) == ["x.csv", "x.csv.meta"]
    assert run("export", sweep, "-o", str(path), "--force")[0] == 0


def test_an_export_through_a_link_is_read_through_it(run: Any, sweep: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.csv").symlink_to("elsewhere/x.csv")
    assert run("export", sweep, "-o", str(tmp_path / "link.csv"))[0] == 0
    assert sorted(file.name for file in (tmp_path / "elsewhere").iterdir()) == ["x.csv", "x.csv.meta"]
    assert (tmp_path / "link.csv").is_symlink()
    for name in ("link.csv", "elsewhere/x.csv"):
        code, out, _ = run("import", str(tmp_path / name))
        assert (code, "imported 16 trials" in out) == (0, True)


@pytest.mark.parametrize("name", ["csv", "parquet", "json"])
def test_an_export_goes_to_standard_output(
    sweep: str, tmp_path: Path, name: str, store: Store, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    for target in (str(tmp_path / f"x.{name}"), "-"):
        capsysbinary.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main(["export", sweep, "-o", target, "--format", name, "--store", store.name])
        assert not exit_.value.code
    out, err = capsysbinary.readouterr()
    assert out == (tmp_path / f"x.{name}").read_bytes()
    lines = err.decode().splitlines()
    assert lines.pop() == f"exported 16 trials of {NAME} to - ({name})"
    assert lines == (["written without its .meta file: `sweeper import` cannot read it"] if name == "csv" else [])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["latest", "-o", "x.xlsx"], "its ending says no format; known are .csv, .parquet, .json"),
        (["latest", "-o", "{}/sweeps.db"], "is a database already"),
        (["latest", "-o", "{}", "--format", "tensorboard"], "is a folder with something in it"),
        (["latest", "-o", "/proc/x.csv"], "cannot be written"),
        (["latest", "-o", "-"], "add --format csv, parquet or json"),
        (["latest", "-o", "/dev/stdout"], "its ending says no format"),
        (["latest", "-o", "-", "--format", "optuna"], "takes a stream of bytes, and optuna is a folder or a database"),
        (["latest", "-o", "/dev/null", "--format", "tensorboard"], "takes a stream of bytes, and tensorboard is a"),
        (["nothing", "-o", "x.csv"], "no such sweep"),
    ],
)
@pytest.mark.usefixtures("sweep")
def test_refusals_of_an_export(run: Any, tmp_path: Path, options: list[str], words: str) -> None:
    code, out, err = run("export", *(option.format(tmp_path) for option in options))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert words in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["x.json", "--set", "workers=2"], "is an export"),
        (["x.json", "--loss", "loss"], "is an export"),
        (["x.json", "--experiment", "a"], "no MLflow store among the files"),
        (["x.json", "--format", "parquet"], "is not of the format parquet"),
        (["x.json", "--name", "latest"], "--name"),
        (["cut.json"], "export it again"),
        (["cut.csv"], "export it again"),
        (["alone.csv"], "its other file, alone.csv.meta, is not beside it"),
        (["bent.json"], "trial"),
        (["later.json"], "is of format 3, and this version reads up to 2"),
        (["sweeps.db"], "is a Sweeper store"),
        (["other.parquet"], "has not written"),
        (["empty"], "is a folder without"),
    ],
)
def test_refusals_of_an_import_store_nothing(
    run: Any, store: Store, sweep: str, tmp_path: Path, options: list[str], words: str
) -> None:
    for name in ("x.json", "x.csv", "x.parquet"):
        run("export", sweep, "-o", str(tmp_path / name))
    text = (tmp_path / "x.json").read_text()
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    (tmp_path / "bent.json").write_text(text.replace('"position":3', '"position":"three"'))
    (tmp_path / "later.json").write_text(text.replace('"format":2', '"format":3'))
    table = (tmp_path / "x.csv").read_text()
    (tmp_path / "cut.csv").write_text(table[: len(table) // 2])
    (tmp_path / "alone.csv").write_text(table)
    shutil.copy(tmp_path / "x.csv.meta", tmp_path / "cut.csv.meta")
    pq.write_table(pq.read_table(tmp_path / "x.parquet").replace_schema_metadata({}), tmp_path / "other.parquet")
    (tmp_path / "empty").mkdir()
    code, out, err = run("import", str(tmp_path / options[0]), *options[1:])
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert words in err
    assert [one.id for one in store.sweeps.all()] == [sweep]


def test_pandas_reads_the_tables(run: Any, store: Store, sweep: str, tmp_path: Path) -> None:
    run("export", sweep, "-o", str(tmp_path / "x.csv"))
    run("export", sweep, "-o", str(tmp_path / "x.parquet"))
    tables = pandas.read_csv(tmp_path / "x.csv"), pandas.read_parquet(tmp_path / "x.parquet")
    for table in tables:
        assert list(table.columns[:3]) == ["trial", "workers", "batch_size"]
        assert list(table.columns[-7:]) == ["at_chance", "state", "attempt", "step", "images", "seconds", "loss"]
        assert table.at_chance.dtype == bool
        counted = table.groupby("trial").size()
        attempts = {trial.id: store.attempts.of(trial.id) for trial in store.trials.of(sweep)}
        points = {
            name: sum(len(store.attempts.points(name, one.number)) for one in own) for name, own in attempts.items()
        }
        assert counted.to_dict() == {name: count for name, count in points.items() if count}


def test_a_json_that_was_laid_out_anew_is_read(run: Any, store: Store, sweep: str, tmp_path: Path) -> None:
    run("export", sweep, "-o", str(tmp_path / "x.json"))
    document = json.loads((tmp_path / "x.json").read_text())
    (tmp_path / "y.json").write_text(json.dumps(document, indent=2))
    before = told(store, sweep)
    store.sweeps.delete(sweep)
    assert run("import", str(tmp_path / "y.json"))[0] == 0
    assert told(store, sweep) == before
