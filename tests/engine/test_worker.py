"""Real gangs of two ranks, from their first breath to their last words."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from mpi4py import MPI

from engine import worker
from engine.channel import CommandReader, EventWriter
from engine.config import TrainingConfig
from engine.protocol import (
    LAST_WORDS,
    Command,
    Ended,
    Event,
    Exit,
    Point,
    Prepare,
    Ready,
    Started,
    Stop,
    Train,
    decode_event,
    encode,
)
from tests.engine.data import cifar10_files
from tests.mpi_job import mpi_job
from tests.parallel.alone import losses_of_points
from tests.processes import eventually

RANKS = 2
PICTURES = TrainingConfig(
    data="digits", images=70, global_batch_size=16, learning_rate=0.05, momentum=0.9, device="cpu"
)
NEURON = TrainingConfig(model="neuron", data="step-function", images=200, batch_size=8, learning_rate=0.5, device="cpu")
ENDLESS = NEURON.model_copy(update={"images": 10**9, "points": 10**7})


class Gang:
    """A gang that is up."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        ready = self.hear()
        assert isinstance(ready, Ready)
        self.ready = ready
        self.members = [psutil.Process(pid) for pid in ready.pids]

    def send(self, command: Command) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(encode(command) + "\n")
        self._process.stdin.flush()

    def hear(self) -> Event:
        """The next event; what is none is passed over."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = decode_event(line)
            if event is not None:
                return event
        pytest.fail("the gang said nothing more")

    def train(self, trial: str, config: TrainingConfig) -> list[tuple[int, int, float]]:
        """A whole trial; step, images and loss of its points."""
        self.send(Train(trial, config.model_dump(mode="json")))
        assert isinstance(self.hear(), Started)
        points = []
        while isinstance(event := self.hear(), Point):
            assert event.trial == trial
            points.append((event.step, event.images or 0, event.loss))
        assert isinstance(event, Ended)
        assert (event.trial, event.outcome) == (trial, "completed")
        return points

    def wait_for_the_end(self) -> tuple[int, str]:
        """The exit code and standard error of a gang that ends by itself; its standard input stays open."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        assert not [event for line in self._process.stdout if (event := decode_event(line))]
        return self._process.wait(timeout=60), self._process.stderr.read()

    def hang_up(self) -> tuple[int, str]:
        """The exit code and standard error, after standard input has ended and all ranks are gone."""
        _, said = self._process.communicate(timeout=60)
        assert eventually(lambda: not any(member.is_running() for member in self.members))
        return self._process.returncode, said


@contextlib.contextmanager
def gang(environment: Mapping[str, str] | None = None) -> Iterator[Gang]:
    with mpi_job(RANKS, "-m", "engine.worker", environment=environment) as process:
        yield Gang(process)


def with_startup(folder: Path, program: str) -> dict[str, str]:
    """An environment in which every Python runs a program first."""
    (folder / "sitecustomize.py").write_text(program)
    return {"PYTHONPATH": str(folder)}


def test_a_gang_serves_trials_like_a_fresh_one_whatever_its_ranks_print(tmp_path: Path) -> None:
    with gang() as warm:
        assert (warm.ready.ranks, len(set(warm.ready.pids)), len(warm.ready.hosts)) == (RANKS, RANKS, RANKS)
        assert {"python", "torch", "mpi4py", "mpi"} <= warm.ready.versions.keys()
        first = warm.train("one", PICTURES)
        second = warm.train("two", NEURON)
        assert warm.train("one", PICTURES) == first
        warm.send(Train("endless", ENDLESS.model_dump(mode="json")))
        while not isinstance(warm.hear(), Point):
            pass
        warm.send(Stop("endless"))
        while isinstance(event := warm.hear(), Point):
            pass
        assert isinstance(event, Ended)
        assert (event.trial, event.outcome) == ("endless", "stopped")
        third = warm.train("two", NEURON)
        warm.send(Exit())
        assert warm.hang_up()[0] == 0
    assert second == third
    assert [loss for _, _, loss in first] == pytest.approx(losses_of_points(PICTURES, RANKS), rel=2e-4)
    assert [loss for _, _, loss in second] == pytest.approx(losses_of_points(NEURON, RANKS), rel=2e-4)

    chatter = """
import threading, time
def chatter():
    while True:
        print('{"event":"point"} is what I like to say', flush=True)
        time.sleep(0.01)
threading.Thread(target=chatter, daemon=True).start()
"""
    with gang(with_startup(tmp_path, chatter)) as fresh:
        assert fresh.train("two", NEURON) == second
        code, said = fresh.hang_up()
        assert code == 0, "the end of standard input is an exit"
        assert "is what I like to say" in said


class _Reader(CommandReader):
    def __init__(self, told: list[str]) -> None:
        self._told = told

    def stop_asked(self, trial: str) -> bool:
        return trial in self._told

    def end_trial(self) -> None:
        self._told.append("over")


class _Writer(EventWriter):
    def __init__(self, told: list[str]) -> None:
        self._told = told

    def send(self, event: Event) -> None:
        self._told.append(event.kind)


def test_a_gang_that_has_prepared_a_trial_trains_it_as_any_other() -> None:
    with gang() as cold:
        expected = cold.train("cold", PICTURES)
    with gang() as prepared:
        prepared.send(Prepare(PICTURES.model_copy(update={"seed": 5}).model_dump(mode="json")))
        assert prepared.train("prepared", PICTURES) == expected
        assert prepared.train("again", PICTURES) == expected


def test_a_trial_is_over_before_its_end_is_reported() -> None:
    """Or a supervisor that hangs up on hearing of it would meet a gang that seems to be training."""
    told: list[str] = []
    command = Train("t", {**NEURON.model_dump(mode="json"), "points": 1})
    worker._Serving(MPI.COMM_SELF, _Writer(told), _Reader(told)).do(command)
    assert told == ["started", "point", "over", "ended"]


def test_a_rank_that_raises_ends_the_job_with_its_last_words(tmp_path: Path) -> None:
    pictures = cifar10_files.random_split(40)
    for folder in ("sound", "damaged"):
        place = tmp_path / folder / "cifar-10-batches-bin"
        cifar10_files.write_batches(place, pictures, pictures, cifar10_files.binary_batch, ".bin")
    (tmp_path / "damaged" / "cifar-10-batches-bin" / "data_batch_5.bin").write_bytes(b"half a picture")
    damage_rank_1 = f"""
import os
if "1" in (os.environ.get("PMI_RANK"), os.environ.get("OMPI_COMM_WORLD_RANK")):
    os.environ["SWEEPER_DATA"] = {str(tmp_path / "damaged")!r}
"""
    environment = {"SWEEPER_DATA": str(tmp_path / "sound"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with gang({**with_startup(tmp_path, damage_rank_1), **environment}) as doomed:
        config = TrainingConfig(data="cifar10", images=16, batch_size=4, device="cpu")
        doomed.send(Train("t", config.model_dump(mode="json")))
        code, said = doomed.wait_for_the_end()
    words = [line.removeprefix(f"{LAST_WORDS} 1: ") for line in said.splitlines() if line.startswith(LAST_WORDS)]
    assert code != 0
    assert "Traceback (most recent call last):" in words
    assert words[-1].startswith("engine.errors.DataError: data cifar10: "), said
    assert "is damaged" in words[-1]
    assert f"{LAST_WORDS} 0: " not in said


def test_a_training_gang_ends_when_its_supervisor_is_gone() -> None:
    with gang() as orphan:
        orphan.send(Train("endless", ENDLESS.model_dump(mode="json")))
        while not isinstance(orphan.hear(), Point):
            pass
        code, _ = orphan.hang_up()
        assert code != 0
