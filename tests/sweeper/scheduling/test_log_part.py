"""The part of a gang's log that is an attempt's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sweeper.gangs.base import Job, JobEvent
from sweeper.scheduling.log_part import read_printed
from sweeper.scheduling.scheduler import Scheduler
from sweeper.store import Printed, Store
from tests.sweeper.scheduling.scripted import ScriptedExecutor, Watcher, completes, fails, submit


def test_a_part_and_what_is_not_there(tmp_path: Path) -> None:
    log = tmp_path / "gang.log"
    assert read_printed(str(log), 0) is None
    log.write_bytes(b"one\ntwo\nthr\xffee\n")
    assert read_printed(str(log), 0) == Printed("one\ntwo\nthr\ufffdee\n")
    assert read_printed(str(log), 4, 8) == Printed("two\n")
    assert read_printed(str(log), 4, 4) is None
    assert read_printed(str(log), 100) is None


def test_of_much_the_last_whole_lines_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "gang.log"
    lines = [f"line {number}\n" for number in range(20_000)]
    log.write_text("before\n" + "".join(lines))
    found = read_printed(str(log), 7)
    assert found is not None
    assert found.text.endswith(lines[-1])
    assert "".join(lines).endswith("\n" + found.text)
    assert 65_000 < len(found.text) <= 65_536
    assert found.omitted + len(found.text) == log.stat().st_size - 7


def test_a_line_without_end_is_kept_as_far_as_it_goes(tmp_path: Path) -> None:
    log = tmp_path / "gang.log"
    log.write_text("x" * 100_000)
    assert read_printed(str(log), 0) == Printed("x" * 65_536, 100_000 - 65_536)


class PrintingExecutor(ScriptedExecutor):
    """One gang for all jobs, whose ranks print the batch size before the end of each."""

    def __init__(self, log: Path, **others: object) -> None:
        super().__init__(seats=1, **others)  # type: ignore[arg-type]
        self._log, self._told = log, 0
        log.touch()

    def start(self, job: Job) -> None:
        super().start(job)
        with self._log.open("a") as log:
            log.write(f"batches of {job.config['batch_size']}\n")

    def events(self, timeout_s: float) -> Sequence[JobEvent]:
        found = []
        for event in super().events(timeout_s):
            is_last = type(event.event).__name__ in ("Ended", "Failed")
            begun, self._told = self._told, self._log.stat().st_size if is_last else self._told
            found.append(replace(event, log=str(self._log), log_at=self._told if is_last else begun))
        return found


@pytest.mark.parametrize(("script", "retries"), [(completes, 0), (fails, 1)])
def test_each_attempt_on_a_gang_is_recorded_with_its_part(
    store: Store, tmp_path: Path, script: object, retries: int
) -> None:
    sweep = submit(store, batch_size=[8, 16])
    executor = PrintingExecutor(tmp_path / "gang.log", script=script)
    Scheduler(store, executor, Watcher(), retries=retries).run(sweep)
    for trial in store.trials.of(sweep):
        said = Printed(f"batches of {trial.config['batch_size']}\n")
        assert [store.attempts.printed(trial.id, number) for number in range(1, retries + 2)] == [said] * (retries + 1)


def test_an_interrupted_attempt_is_recorded_with_what_there_is(store: Store, tmp_path: Path) -> None:
    sweep = submit(store, batch_size=[8])
    rounds = iter([0, 0, 0])
    executor = PrintingExecutor(tmp_path / "gang.log", script=lambda job: completes(job)[:2])
    with pytest.raises(KeyboardInterrupt):
        Scheduler(store, executor, Watcher(), interrupts=lambda: next(rounds, 1)).run(sweep)
    (trial,) = store.trials.of(sweep)
    assert store.attempts.printed(trial.id, 1) == Printed("batches of 8\n")
