"""The rules by which checkpoints travel, between folders of one machine in place of hosts."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sweeper.gangs.ray import checkpoint_files, courier
from sweeper.gangs.ray.actor import HostFiles
from sweeper.gangs.ray.checkpoint_files import BROUGHT, Checkpoint, begin, checkpoint_in, mark_of, put_checkpoint
from sweeper.gangs.ray.courier import Courier
from tests.sweeper.gangs.ray.test_checkpoint_files import note


@dataclass
class FolderHost:
    """A host with a folder of its own: what a trial keeps in any folder lies there. `before` comes before an answer."""

    place: Path
    before: Callable[[str], object] = lambda _: None
    asked: list[str] = field(default_factory=list)

    def ask(self, method: str, *arguments: Any, limit_s: float | None = None) -> Any:  # noqa: ARG002
        self.asked.append(method)
        self.before(method)
        return getattr(HostFiles(), method)(str(self.place), *arguments[1:])

    def write(self, step: int, *ranks: int, first: bool = False, text: str = "") -> None:
        """What ranks of this host would; the `first` one writes the note."""
        files = {f"rank-{rank}.pt": f"{step} of {rank}{text}".encode() for rank in ranks}
        put_checkpoint(self.place, Checkpoint(step, note(step) if first else ""), files)

    def files(self, step: int) -> list[str]:
        return sorted(checkpoint_files.files_of(self.place, step))


class Trial:
    """Two hosts with a rank each, a third one, and the folder here; attempts run where they are told."""

    def __init__(self, root: Path) -> None:
        self.here = root / "here"
        self.a, self.b, self.c = (FolderHost(root / name) for name in "abc")

    def courier(self, *hosts: FolderHost) -> Courier:
        return Courier(hosts, [1] * len(hosts), str(self.here), mark_of(self.here))

    def attempt(self, *hosts: FolderHost, step: int) -> None:
        """One that gets this far, and whose checkpoint comes here."""
        going = self.courier(*hosts)
        going.send()
        for rank, host in enumerate(hosts):
            host.write(step, rank, first=rank == 0)
        going.bring()

    def brought(self) -> Checkpoint:
        return checkpoint_in(self.here / BROUGHT)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


@pytest.fixture(autouse=True)
def warnings(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    courier._warn_once.cache_clear()
    yield lambda: [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    courier._warn_once.cache_clear()


def test_each_host_sends_and_gets_its_own_ranks_files(trial: Trial) -> None:
    trial.attempt(trial.a, trial.b, step=10)
    assert trial.brought().lacks(2) == []
    trial.courier(trial.c, trial.a).send()
    assert trial.c.files(10) == ["rank-0.pt"]
    assert trial.a.files(10) == ["rank-0.pt", "rank-1.pt"]
    assert checkpoint_in(trial.c.place).note == note(10)
    again = trial.courier(trial.c, trial.a)
    trial.c.asked.clear()
    again.send()
    assert "put_checkpoint" not in trial.c.asked


def test_the_limit_is_of_each_host(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, warnings: Callable[[], list[str]]
) -> None:
    for module in (courier, checkpoint_files):
        monkeypatch.setattr(module, "MOST_BYTES", len(b"10 of 0"))
    trial.attempt(trial.a, trial.b, step=10)
    trial.courier(trial.c, trial.b).send()
    assert trial.c.files(10) == ["rank-0.pt"]
    assert warnings() == []
    # On one host the same two files are over the limit.
    for _ in range(2):
        Courier([trial.c], [2], str(trial.here), mark_of(trial.here)).send()
    assert len(warnings()) == 1
    assert trial.c.files(10) == ["rank-0.pt"]


def test_what_is_too_large_stays_on_its_host_and_is_asked_for_once(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, warnings: Callable[[], list[str]]
) -> None:
    monkeypatch.setattr(checkpoint_files, "MOST_BYTES", 3)
    going = trial.courier(trial.a)
    going.send()
    for step in (10, 20):
        trial.a.write(step, 0, first=True)
        going.bring()
    assert trial.brought() == Checkpoint()
    assert (trial.a.asked.count("checkpoint_files"), len(warnings())) == (1, 1)
    trial.courier(trial.a).send()  # the next attempt there goes on
    assert checkpoint_in(trial.a.place).step == 20


def test_a_trial_that_begins_anew_finds_nothing_on_its_hosts(trial: Trial) -> None:
    trial.attempt(trial.a, trial.b, step=30)
    checkpoint_files.remove(trial.here, mark_of(trial.here))  # as a rerun does
    trial.courier(trial.a, trial.b).send()
    for host in (trial.a, trial.b):
        assert (checkpoint_in(host.place), host.files(30)) == (Checkpoint(), [])


def test_a_host_that_comes_back_has_nothing_from_before_the_beginning(trial: Trial) -> None:
    trial.attempt(trial.b, step=300)
    checkpoint_files.remove(trial.here, mark_of(trial.here))
    trial.attempt(trial.c, step=20)
    trial.courier(trial.b).send()
    assert (checkpoint_in(trial.b.place).step, trial.b.files(300)) == (20, [])


def test_a_host_that_was_ahead_stays_ahead(trial: Trial) -> None:
    trial.attempt(trial.a, step=10)
    trial.a.write(20, 0, first=True)
    trial.courier(trial.a).send()
    assert checkpoint_in(trial.a.place).step == 20


def test_removal_spares_a_folder_with_another_mark(trial: Trial) -> None:
    trial.attempt(trial.a, step=10)
    checkpoint_files.remove(trial.a.place, "of an earlier beginning")
    assert trial.a.files(10)
    checkpoint_files.remove(trial.a.place, mark_of(trial.here))
    assert not trial.a.place.exists()


def test_an_attempt_begins_when_all_is_there(trial: Trial) -> None:
    trial.attempt(trial.a, step=10)
    let_go = threading.Event()
    begun = threading.Event()
    slow = FolderHost(trial.c.place, lambda method: method == "put_checkpoint" and let_go.wait())
    going = trial.courier(slow)

    def attempt() -> None:
        with going.following():
            begun.set()
            assert slow.files(10) == ["rank-0.pt"]

    thread = threading.Thread(target=attempt)
    thread.start()
    assert not begun.wait(0.1)
    let_go.set()
    thread.join()
    assert begun.is_set()


def test_what_comes_late_is_not_written(trial: Trial) -> None:
    going = trial.courier(trial.a)
    trial.a.write(10, 0, first=True)

    def end(method: str) -> None:
        if method == "checkpoint_files":
            going.close()

    trial.a.before = end
    going.bring()
    assert trial.brought() == Checkpoint()
    assert [path.name for path in trial.here.iterdir()] == ["begun"]


@pytest.mark.parametrize("name", ["../rank-0.pt", "/tmp/rank-0.pt", "rank-1.pt", "latest.json", "rank-0.pt/../x", ""])
def test_files_that_nobody_asked_for_are_left(trial: Trial, name: str) -> None:
    class Forging(FolderHost):
        def ask(self, method: str, *arguments: Any, limit_s: float | None = None) -> Any:
            answer = super().ask(method, *arguments, limit_s=limit_s)
            return {**answer, name: b"forged"} if method == "checkpoint_files" else answer

    forging = Forging(trial.a.place)
    forging.write(10, 0, first=True)
    trial.courier(forging).bring()
    assert sorted(str(path.relative_to(trial.here)) for path in trial.here.rglob("*") if path.is_file()) == [
        "begun",
        "brought/latest.json",
        "brought/step-10/rank-0.pt",
    ]


def test_a_part_of_a_checkpoint_leaves_the_one_before(trial: Trial) -> None:
    trial.attempt(trial.a, trial.b, step=10)
    trial.a.write(20, 0, first=True)  # the other rank has gone on, or its host is lost
    trial.courier(trial.a, trial.b).bring()
    assert (trial.brought().step, trial.brought().lacks(2)) == (10, [])


def test_parts_of_checkpoints_do_not_pile_up(trial: Trial) -> None:
    trial.attempt(trial.a, trial.b, step=10)
    going = trial.courier(trial.a, trial.b)
    for step in (20, 30, 40):
        trial.b.write(step, 1)
        put_checkpoint(trial.a.place, Checkpoint(step, note(step)), {})  # whose file does not come
        going.bring()
    assert trial.brought().step == 10
    assert sorted(path.name for path in (trial.here / BROUGHT).glob("step-*")) == ["step-10", "step-40"]


@pytest.mark.parametrize("error", [TimeoutError, ConnectionError])
def test_what_goes_wrong_is_told_once_and_ends_nothing(
    trial: Trial, error: type[OSError], warnings: Callable[[], list[str]]
) -> None:
    def fail(_: str) -> None:
        raise error("the host does not answer")

    failing = FolderHost(trial.a.place, fail)
    for _ in range(2):
        with trial.courier(failing).following():
            pass
    assert len(warnings()) == (error is TimeoutError)


def test_nothing_is_put_over_a_folder_that_hosts_share_with_this_machine(trial: Trial) -> None:
    trial.a.place = trial.here
    trial.attempt(trial.a, step=10)
    trial.courier(trial.a).send()
    assert "put_checkpoint" not in trial.a.asked
    assert sorted(path.name for path in trial.here.iterdir()) == ["begun", "latest.json", "step-10"]


@pytest.mark.parametrize("mark", [b"", b"\xff\xfe", b"another"])
def test_a_folder_with_another_mark_is_cleared_whatever_it_is(trial: Trial, mark: bytes) -> None:
    trial.attempt(trial.a, step=10)
    (trial.a.place / "begun").write_bytes(mark)
    begin(trial.a.place, mark_of(trial.here))
    assert (checkpoint_in(trial.a.place), trial.a.files(10)) == (Checkpoint(), [])


def test_a_second_beginning_of_the_same_attempts_changes_nothing(trial: Trial) -> None:
    trial.attempt(trial.a, step=10)
    begin(trial.a.place, mark_of(trial.here))
    assert trial.a.files(10) == ["rank-0.pt"]
