"""What studies share: a store that a study resumes, tables in its README, figures, and the command that makes them.

python -m experiments.NAME                     # run what is missing, then write tables and figures
python -m experiments.NAME --redraw            # tables and figures alone, from the recorded result
python -m experiments.NAME --quick --into DIR  # a small version on CPUs, in less than a minute
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sweeper.errors import SweeperError, UsageError
from sweeper.execution import Execution, prepare_sweep, resume_sweep, run_sweep
from sweeper.gangs import EXECUTORS
from sweeper.live_view import in_notebook_or_terminal
from sweeper.output_file import OutputPlace, write_output
from sweeper.spec import SweepSpec
from sweeper.spec.command import CommandConfig
from sweeper.spec.file import load_spec
from sweeper.store import Store, SweepRecord, open_store, read_store
from sweeper.store.upgrading import upgrade_store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STORE = "sweeps.db"
_DEVICE = "device "
_LOG = re.compile(r"; see /.*$")  # where a failed attempt's reason says that more is told
_SAME_S = 60.0  # between a store that a run has left and its packed copy
_TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
# A recorded result does not tell on which host a sweep ran, and has short names for its devices.
_FORGOTTEN = (
    "UPDATE gang SET hosts = '[\"host\"]', pids = '[]'",
    "UPDATE attempt SET log = '', traceback = '', reason = without_path(reason)",
    "UPDATE trial SET reason = without_path(reason)",
    "DELETE FROM printed",
    "DELETE FROM scheduler",
    # Commands of studies run in the project's folder, wherever that is.
    "UPDATE sweep SET spec = json_set(spec, '$.trial.folder', '.') WHERE spec ->> '$.trial.folder' <> ''",
    "UPDATE trial SET config = json_set(config, '$.folder', '.') WHERE config ->> '$.folder' <> ''",
)
_DEVICES = (
    "UPDATE attempt SET effective = json_set(effective, '$.device_uuid', short_name(effective ->> 'device_uuid')) "
    "WHERE effective ->> 'device_uuid' <> ''"
)


class Study:
    """A study's folder, and the folder that its results go into: its own, unless another is given.

    `result/sweeps.db` is the store of its sweeps, kept as `result/sweeps.db.xz`; `result/*.json` are other
    measurements; `README.md` has the tables, each between `<!-- table: NAME -->` and `<!-- end -->`; `figures/` has
    the figures. In a folder without a README, tables go into `tables.md`.
    """

    def __init__(
        self, folder: Path, into: Path | None, *, quick: bool, executor: str, only: Sequence[str] = ()
    ) -> None:
        self.folder, self.into = folder, into or folder
        self.quick, self.executor, self._only = quick, executor, only
        self._tables: dict[str, str] = {}
        self._empty: set[str] = set()  # tables without rows
        self._figures: list[str] = []

    def wants(self, part: str) -> bool:
        """Whether a part of the study is to be run; all are where none is named."""
        return not self._only or part in self._only

    # Sweeps

    def sweep(
        self,
        spec: str,
        overrides: Sequence[str] = (),
        *,
        oversubscribe: bool = False,
        one_at_a_time: bool = False,
        quick: Sequence[str] = (),
    ) -> SweepRecord:
        """Run a spec of the study's folder, or what its store lacks of it.

        `overrides` are as for `sweeper run --set`; those in `quick` hold for the small version, which shares cores if
        others have them. With `one_at_a_time` no trial runs beside another, and it waits for cores that others have.

        Raises:
            UsageError: the sweep of that name is recorded with another spec.
        """
        written = load_spec(self.folder / spec, (*overrides, *(quick if self.quick else ())))
        shares = oversubscribe or self.quick
        execution = Execution(
            self.executor,
            None,
            finish_running=False,
            oversubscribe=shares,
            wait_for_seats=shares and one_at_a_time and not self.quick,
            one_at_a_time=one_at_a_time,
        )
        audience = in_notebook_or_terminal()
        with closing(open_store(f"sqlite:///{self.store}")) as store:
            found = next((one for one in store.sweeps.all() if one.name == written.name), None)
            if found is None:
                return run_sweep(store, prepare_sweep(written, execution), execution, audience, again=False)
            if _anywhere(found.spec.whole()) != _anywhere(written):
                problem = f"{spec}: the sweep {found.name} is recorded with another spec"
                raise UsageError(problem, f"restore the spec, or remove the sweep: `sweeper delete {found.id}`")
            if found.ended < found.total:
                return resume_sweep(store, found.id, execution, audience)
            return found

    @cached_property
    def store(self) -> Path:
        """The store's file, unpacked from the recorded result where it is not there yet.

        Raises:
            UsageError: it is there, from an interrupted run, and the recorded result is newer.
        """
        path, packed = self._result / STORE, self._result / f"{STORE}.xz"
        if path.exists() and packed.exists() and packed.stat().st_mtime > path.stat().st_mtime + _SAME_S:
            raise UsageError(f"{path}: is older than the recorded result {packed.name}", "remove one of the two")
        if not path.exists() and packed.exists():
            path.write_bytes(lzma.decompress(packed.read_bytes()))
            upgrade_store(f"sqlite:///{path}")
        return path

    @property
    def has_sweeps(self) -> bool:
        """Whether a store is recorded, or being made."""
        return (self._result / STORE).exists() or (self._result / f"{STORE}.xz").exists()

    @contextmanager
    def reading(self) -> Iterator[Store]:
        """The store, to be read."""
        with closing(read_store(f"sqlite:///{self.store}")) as store:
            yield store

    def pack(self) -> None:
        """Keep the store as the recorded result, without the names of hosts, devices and paths."""
        if not self.store.exists():
            return
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, STORE)
            with closing(sqlite3.connect(self.store)) as own:
                own.execute("VACUUM INTO ?", (str(copy),))
            with closing(sqlite3.connect(copy)) as copied:
                copied.create_function("without_path", 1, lambda reason: _LOG.sub("", reason))
                for statement in _FORGOTTEN:
                    copied.execute(statement)
                copied.create_function("short_name", 1, _short_name)
                copied.execute(_DEVICES)
                copied.commit()
                copied.execute("VACUUM")
            packed = lzma.compress(copy.read_bytes(), preset=9 | lzma.PRESET_EXTREME)
        _write(self._result / f"{STORE}.xz", packed)

    # Other measurements

    def measured(self, name: str) -> list[dict[str, Any]]:
        """The recorded rows of a measurement; none where it has not been made."""
        path = self._result / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else []

    def record(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep the rows of a measurement in place of earlier ones."""
        lines = ",\n".join(json.dumps(row) for row in rows)
        _write(self._result / f"{name}.json", f"[\n{lines}\n]\n".encode())

    @cached_property
    def _result(self) -> Path:
        folder = self.into / "result"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # Tables and figures

    def table(self, name: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """A table for the README."""
        lines = [header, ["---"] * len(header), *rows]
        self._tables[name] = "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)
        if not rows:
            self._empty.add(name)

    def figure(self, name: str, figure: Figure) -> None:
        """Write a figure as `figures/NAME.svg`."""
        from dashboards.figures.drawing.figure_file import write_figure

        write_figure(figure, self.into / "figures" / f"{name}.svg")
        self._figures.append(f"{name}.svg")

    def write_tables(self) -> list[str]:
        """Put the tables where they belong, and return lines that say where they and the figures are.

        Places of tables that were not made stay as they are. `tables.md` leaves out those without rows.

        Raises:
            UsageError: the README has no place for one of them.
        """
        place, names = self.into / "README.md", list(self._tables)
        if place.exists():
            self._fill(place)
        else:
            place, names = self.into / "tables.md", [name for name in names if name not in self._empty]
            text = "\n".join(f"## {name}\n\n{self._tables[name]}" for name in names)
            _write(place, text.encode())
        written = {place: names, self.into / "figures": self._figures}
        return [f"Wrote {where}: {', '.join(made)}" for where, made in written.items() if made]

    def _fill(self, readme: Path) -> None:
        text = readme.read_text()
        places = {match[1] for match in _TABLE.findall(text)}
        if missing := sorted(self._tables.keys() - places):
            raise UsageError(f"{readme}: has no place for the table {missing[0]!r}", "add its two comments")
        filled = _TABLE.sub(self._filled, text)
        _write(readme, filled.encode())

    def _filled(self, place: re.Match[str]) -> str:
        """A place with its table; as it is where there is none, for example since this machine lacks what it needs."""
        table = self._tables.get(place[2])
        return place[0] if table is None else place[1] + table + place[3]

    def tidy(self) -> None:
        """Remove the unpacked store of a recorded result, which is kept packed."""
        if (self._result / f"{STORE}.xz").exists():
            for path in self._result.glob(f"{STORE}*"):
                if path.suffix != ".xz":
                    path.unlink()


def study_command(
    file: str, run: Callable[[Study], object], show: Callable[[Study], object], parts: Sequence[str] = ()
) -> click.Command:
    """The command of a study whose `__main__` is `file`.

    `run` measures what the recorded result lacks, `show` makes tables and figures of it; `parts` can be run alone.
    """

    @click.command(help=f"Run the study {Path(file).parent.name}, then write its tables and figures.")
    @click.option("--redraw", is_flag=True, help="Run nothing: tables and figures from the recorded result.")
    @click.option("--quick", is_flag=True, help="A small version on CPUs, in less than a minute; needs --into.")
    @click.option("--into", type=click.Path(path_type=Path), help="A folder for the results, instead of the study's.")
    @click.option("--only", multiple=True, type=click.Choice(parts), help="Run this part only; may be repeated.")
    @click.option(
        "--executor", type=click.Choice(EXECUTORS), default="local", show_default=True, help="What runs the MPI jobs."
    )
    def command(redraw: bool, quick: bool, into: Path | None, only: tuple[str, ...], executor: str) -> None:
        if quick and into is None:
            raise click.UsageError("--quick needs --into, or it would replace the recorded result")
        study = Study(Path(file).parent, into, quick=quick, executor=executor, only=only)
        try:
            if not redraw:
                try:
                    run(study)
                finally:  # an interrupt too: the next run goes on from what is recorded
                    study.pack()
            show(study)
            written = study.write_tables()
            study.tidy()
            for line in written:
                click.echo(line)
        except SweeperError as error:
            raise click.ClickException(str(error)) from None

    return command


def copy_recorded(folder: Path, into: Path) -> None:
    """Copy a study's README and recorded result, without an unpacked store."""
    into.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / "README.md", into)
    shutil.copytree(folder / "result", into / "result", ignore=shutil.ignore_patterns("*.db", "*.db-*"))


def _anywhere(spec: SweepSpec) -> SweepSpec:
    """The spec without the folder that its command runs in."""
    if not isinstance(spec.trial, CommandConfig):
        return spec
    return spec.model_copy(update={"trial": spec.trial.model_copy(update={"folder": ""})})


def _short_name(uuid: str) -> str:
    """What stands for a device: the same in every recorded result, also when it is packed again."""
    if uuid.startswith(_DEVICE):
        return uuid
    return _DEVICE + hashlib.sha256(uuid.encode()).hexdigest()[:8]


def _write(path: Path, content: bytes) -> None:
    write_output(OutputPlace.of(path), lambda partial: partial.write_bytes(content))
