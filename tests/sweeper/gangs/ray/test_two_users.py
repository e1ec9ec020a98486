"""Two users of one machine, with a Ray each: neither touches the other's."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sweeper.gangs.seat_locks import VARIABLE as SEATS_VARIABLE
from tests.contracts.jobs import ENDLESS
from tests.processes import eventually, processes_with

TAG = "SWEEPER_TEST_USER"
NOBODY = 65534
SPEC = """
name: theirs
trial: {{model: neuron, data: step-function, images: {images}, points: {points}}}
space: {{learning_rate: [0.1], workers: [1]}}
"""


class User:
    """Somebody with a home of their own, a store in it, and a sweep of so many images."""

    def __init__(self, home: Path, number: int, images: int, points: int) -> None:
        home.mkdir()
        os.chown(home, number, number)
        (home / "spec.yaml").write_text(SPEC.format(images=images, points=points))
        # The other reads what is here, whatever rights the checkout and its Python have.
        rights = [f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient")]
        self.home = home
        self._who = ["setpriv", f"--reuid={number}", f"--regid={number}", "--clear-groups", *rights] if number else []
        modules = os.pathsep.join(filter(None, (os.getcwd(), os.environ.get("PYTHONPATH"))))
        shared = {SEATS_VARIABLE: str(home.parent / "seats"), "PYTHONPATH": modules}
        self._environment = {**os.environ, **shared, "HOME": str(home), TAG: str(home)}

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Run a program as this user."""
        output = (self.home / "output").open("a")
        with output:
            return subprocess.Popen(
                [*self._who, *words], cwd=self.home, env=self._environment, stdout=output, stderr=output, text=True
            )

    def sweep(self) -> subprocess.Popen[str]:
        """Run the sweep, on a private Ray."""
        return self.start(sys.executable, "-m", "sweeper.cli", "run", "spec.yaml", "--again")

    def points(self) -> int:
        """How many loss points the store has."""
        if not (database := self.home / "sweeper.db").exists():
            return 0
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as store:
            try:
                return int(store.execute("SELECT count(*) FROM loss_point").fetchone()[0])
            except sqlite3.OperationalError:  # no tables yet
                return 0

    def processes(self) -> set[int]:
        """All that runs for this user."""
        return {process.pid for process in processes_with(TAG, str(self.home))}


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that all users may enter, as pytest's are not."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.mark.long
def test_neither_touches_the_others_ray(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can act for another user")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is not installed")
    seats = folder / "seats"
    seats.mkdir()
    seats.chmod(0o1777)
    other = User(folder / "other", NOBODY, ENDLESS, 1_000_000)
    own = User(folder / "own", 0, 640, 4)
    running = other.sweep()
    try:
        assert eventually(lambda: other.points() > 0, 90), (other.home / "output").read_text()
        theirs = other.processes()
        assert own.sweep().wait(120) == 0, (own.home / "output").read_text()
        assert eventually(lambda: not own.processes())
        assert theirs <= other.processes()
        before = other.points()
        assert eventually(lambda: other.points() > before)
        again = own.sweep()
        running.kill()  # in the middle of the other's start
        assert again.wait(120) == 0, (own.home / "output").read_text()
        assert eventually(lambda: not other.processes() and not own.processes())
    finally:
        running.kill()
        running.wait()
