"""A sweep among kills: `python -m benchmarks.chaos --trials 200 --chance 0.1 --seed 1`.

While a sweep runs, ranks, whole gangs and the scheduler are killed at random moments, so that each trial meets a kill
with the given chance; a killed scheduler is followed by `sweeper resume`. In the end every trial must have ended
exactly once, with the curve of an undisturbed sweep, and no process may be left. The exit code says whether it was so.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from tests.processes import words_of

TAG = "SWEEPER_CHAOS"
TRAINING = {"model": "neuron", "data": "step-function", "images": 20_000, "batch_size": 32, "points": 10}
KINDS = ("rank", "gang", "scheduler")
_WORDS = {"rank": ("-m", "mpi4py", "-m", "engine.worker"), "scheduler": ("-m", "sweeper.cli")}
_GONE_S = 20.0


class Sweep:
    """A sweep in a folder of its own, by the command as people start it."""

    def __init__(self, folder: Path, trials: int) -> None:
        self._folder = folder
        self._environment = {**os.environ, TAG: str(folder), "PYTHONPATH": os.getcwd()}
        spec = {
            "name": "chaos",
            "trial": TRAINING,
            "space": {"workers": [1, 2], "seed": list(range(trials // 2))},
            "objective": {"over": "images"},
            "retries": 20,
        }
        (folder / "sweep.json").write_text(json.dumps(spec))
        self.process = self.start("run", "sweep.json")

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """`sweeper WORDS` on the local executor."""
        command = [sys.executable, "-m", "sweeper.cli", *words, "--executor", "local"]
        with (self._folder / "said.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self._folder, env=self._environment, stdout=log, stderr=log, start_new_session=True
            )
        return self.process

    def members(self, kind: str = "") -> list[psutil.Process]:
        """Its living processes, of a kind or all."""
        found = []
        for process in psutil.process_iter():
            try:
                mine = process.environ().get(TAG) == str(self._folder) and process.status() != psutil.STATUS_ZOMBIE
                if mine and (not kind or kind_of(process) == kind):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What its store answers; nothing while there is none yet."""
        try:
            with sqlite3.connect(f"file:{self._folder}/sweeper.db?mode=ro", uri=True) as connection:
                return list(connection.execute(query))
        except sqlite3.OperationalError:
            return []

    def ended(self) -> int:
        """How many trials have."""
        return len(self.rows("SELECT 1 FROM trial WHERE state NOT IN ('pending', 'running')"))

    def curves(self) -> dict[tuple[Any, ...], tuple[Any, ...]]:
        """Area over images and minimum loss of each trial, by its settings."""
        found = self.rows("SELECT workers, parameters, area_images, minimum_loss FROM trial")
        return {(workers, parameters): (area, loss) for workers, parameters, area, loss in found}

    def wait(self) -> int:
        """Until it has ended."""
        return self.process.wait()


def kind_of(process: psutil.Process) -> str:
    """Which of KINDS a process of a sweep is; "" for others, such as mpiexec's helpers."""
    words = words_of(process)
    if words and "mpiexec" in Path(words[0]).name:
        return "gang"
    return next((kind for kind, beginning in _WORDS.items() if tuple(words[1 : 1 + len(beginning)]) == beginning), "")


def disturb(sweep: Sweep, kills: int, trials: int, chance: random.Random) -> dict[str, int]:
    """Kill so often, each time when a random number of trials has ended; how often whom."""
    done = dict.fromkeys(KINDS, 0)
    for moment in sorted(chance.randrange(trials) for _ in range(kills)):
        while sweep.ended() < moment and sweep.process.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.3))
        kind = chance.choice(KINDS)
        members = sweep.members(kind)
        if not members:
            continue
        victim = chance.choice(members)
        try:
            victim.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
        done[kind] += 1
        if kind == "scheduler":
            sweep.wait()
            submitted = bool(sweep.rows("SELECT 1 FROM sweep"))
            sweep.start(*(("resume", "chaos") if submitted else ("run", "sweep.json")))
    return done


def recorded_problems(rows: Callable[[str], list[tuple[Any, ...]]], trials: int) -> list[str]:
    """What a store, by its answers, has not recorded as it must."""
    found = []
    states = rows("SELECT state, COUNT(*) FROM trial GROUP BY state")
    if states != [("completed", trials)]:
        found.append(f"states are {states}, not {trials} completed")
    ends = rows("SELECT trial_id, COUNT(*) FROM attempt WHERE state = 'completed' GROUP BY trial_id")
    if len(ends) != trials or any(count != 1 for _, count in ends):
        most = max((count for _, count in ends), default=0)
        found.append(f"{len(ends)} trials have a completed attempt, at most {most} of one")
    if rows("SELECT 1 FROM attempt WHERE state = 'running'"):
        found.append("an attempt is left running")
    return found


def problems(sweep: Sweep, undisturbed: Sweep, trials: int) -> list[str]:
    """What is not as it must be."""
    found = recorded_problems(sweep.rows, trials)
    theirs = undisturbed.curves()
    if different := [key for key, curve in sweep.curves().items() if theirs.get(key) != curve]:
        found.append(f"{len(different)} trials have another curve, such as {different[0]}")
    deadline = time.monotonic() + _GONE_S
    while (left := sweep.members()) and time.monotonic() < deadline:
        time.sleep(0.1)
    if left:
        found.append(f"{len(left)} processes are left: {[words_of(process)[:6] for process in left]}")
    return found


def main() -> int:
    """Run both sweeps and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--chance", type=float, default=0.1, help="of each trial to meet a kill")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        undisturbed = Sweep(Path(one), given.trials)
        if undisturbed.wait() != 0:
            raise SystemExit((Path(one) / "said.log").read_text())
        begun = time.monotonic()
        sweep = Sweep(Path(other), given.trials)
        done = disturb(sweep, round(given.chance * given.trials), given.trials, chance)
        code = sweep.wait()
        found = problems(sweep, undisturbed, given.trials)
        if code != 0:
            found.append(f"the last command ended with {code}: {(Path(other) / 'said.log').read_text()[-2000:]}")
        kills = ", ".join(f"{count} x {kind}" for kind, count in done.items())
        sys.stdout.write(f"{given.trials} trials in {time.monotonic() - begun:.0f} s, killed: {kills}\n")
        sys.stdout.write("".join(f"wrong: {problem}\n" for problem in found) or "all as undisturbed, nothing left\n")
    return min(1, len(found))


if __name__ == "__main__":
    sys.exit(main())
