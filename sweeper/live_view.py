"""Live progress of a sweep: a table that follows it on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Protocol, TextIO, cast

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from sweeper.answers.cost import candidate_over
from sweeper.answers.numbers import as_passed, measure, parameter
from sweeper.answers.standings import Standings
from sweeper.answers.sweeps import shown_parameters
from sweeper.answers.trial_words import area_words
from sweeper.ranking.curve import LossPoint
from sweeper.scheduling.observer import Audience, Observer
from sweeper.store import Store, SweepRecord, TrialRecord
from sweeper.streams import Unfailing
from sweeper.text_table import SHORTEST_WORDS, fit_table, shorten

_REFRESHES_PER_S = 4
_STEADY = 46  # cells of a trial's description


class View(Observer, AbstractContextManager[Any], Protocol):
    """An observer that is shown while its block runs."""


def make_view(console: Console, store: Store, sweep: SweepRecord) -> View:
    """The view that suits the console: live on a terminal, lines elsewhere."""
    # In a notebook rich redraws a cell with ipywidgets, and shows nothing without.
    redrawn = console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)
    return (LiveView if redrawn else LineView)(console, sweep, Standings(store, sweep))


def on_console(console: Console) -> Audience:
    """Whoever looks at the console."""
    return Audience(
        say=lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True),
        view=lambda store, sweep: make_view(console, store, sweep),
    )


def in_notebook_or_terminal() -> Audience:
    """Whoever looks at standard output, or at a notebook's cell, where what is shown is redrawn in place."""
    return on_console(Console(file=cast(TextIO, Unfailing(sys.stdout))))


def silent() -> Audience:
    """Nobody."""
    return Audience(say=lambda _: None, view=lambda _store, _sweep: nullcontext(_Unseen()))


class _Unseen:
    """An observer that shows nothing."""

    def trial_started(self, trial: TrialRecord) -> None:
        """Not shown."""

    def point_reported(self, trial: TrialRecord, point: LossPoint) -> None:
        """Not shown."""

    def trial_ended(self, trial: TrialRecord) -> None:
        """Not shown."""

    def result_kept(self, trial: TrialRecord, why: str) -> None:
        """Not shown."""

    def attempt_failed(self, trial: TrialRecord, reason: str) -> None:
        """Not shown."""


class _SweepView:
    """What every view keeps: the trials that run, and who leads."""

    def __init__(self, console: Console, sweep: SweepRecord, standings: Standings) -> None:
        self._console, self._sweep, self._standings = console, sweep, standings
        self._rate = sweep.spec.rate

    def _count(self) -> str:
        return f"{self._standings.ended}/{self._standings.total}"

    def _words_of(self, parameters: Mapping[str, Any]) -> str:
        return _in_words(as_passed(parameters) if self._sweep.spec.is_command else parameters)


class LineView(_SweepView):
    """A line for each trial that ends, with the new leader of its group where it took the lead."""

    def __enter__(self) -> LineView:
        self._print(f"sweep {self._sweep.id} ({self._sweep.name}): {plural(self._standings.total, 'trial')}")
        return self

    def __exit__(self, *_: object) -> None:
        self._print(f"sweep {self._sweep.id}: {self._standings.ended} of {self._standings.total} trials ended")

    def trial_started(self, trial: TrialRecord) -> None:
        """Nothing to say yet."""
        self._standings.note(trial)

    def point_reported(self, trial: TrialRecord, point: LossPoint) -> None:
        """Nothing: a log of every point is the store's."""

    def trial_ended(self, trial: TrialRecord) -> None:
        """How it ended, its area and minimum, and whether it leads now."""
        self._standings.note(trial)
        area = candidate_over(replace(trial, oversubscribed=False), self._sweep.over, self._rate).area
        words = area_words(area, is_bound=trial.area_is_bound)
        values = f"area {words}, minimum loss {measure(trial.minimum_loss)}" if area is not None else ""
        why = " ".join(trial.reason.split())
        marks = ["oversubscribed"] if trial.oversubscribed else []
        marks += ["at chance"] if trial.at_chance else []
        marks += [f"derived from trial {trial.derived_from}"] if trial.derived_from else []
        what = f"{describe(trial)}: {trial.state.value}"
        parts = [what, values, *marks, why, "leads its group" if self._standings.leads(trial.id) else ""]
        self._print(f"[{self._count()}] {', '.join(filter(None, parts))}")

    def result_kept(self, trial: TrialRecord, why: str) -> None:
        """That it keeps its old result, and why."""
        self._standings.note(trial)
        self._print(f"[{self._count()}] {old_result_kept(trial, why)}")

    def attempt_failed(self, trial: TrialRecord, reason: str) -> None:
        """Why, and that there will be another."""
        self._standings.note(trial)
        self._print(another_attempt(trial, reason))

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class LiveView(_SweepView):
    """A bar for the sweep, the running trials with their loss, the leader of each group; redrawn in place."""

    def __init__(self, console: Console, sweep: SweepRecord, standings: Standings) -> None:
        super().__init__(console, sweep, standings)
        self._running: dict[str, tuple[TrialRecord, LossPoint | None]] = {}
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )
        name = shorten(f"{sweep.name} ({sweep.id})", max(SHORTEST_WORDS, console.width // 2))
        self._task = self._bar.add_task(name, total=standings.total, completed=standings.ended)
        standings.groups()  # reads what waits before anything is drawn, which another thread does
        self._live = Live(
            console=console, refresh_per_second=_REFRESHES_PER_S, get_renderable=self._draw, vertical_overflow="crop"
        )

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.clear()
        self._live.stop()

    def trial_started(self, trial: TrialRecord) -> None:
        """A new row."""
        self._standings.note(trial)
        self._running[trial.id] = trial, None

    def point_reported(self, trial: TrialRecord, point: LossPoint) -> None:
        """The row's loss."""
        self._running[trial.id] = trial, point

    def trial_ended(self, trial: TrialRecord) -> None:
        """The row goes; failures stay above the table as lines."""
        self._take_row(trial)
        if trial.reason:
            line = f"{describe(trial)}: {trial.state.value}, {' '.join(trial.reason.split())}"
            self._live.console.print(line, markup=False, highlight=False)

    def result_kept(self, trial: TrialRecord, why: str) -> None:
        """The row goes; why the old result is kept stays above the table."""
        self._take_row(trial)
        self._live.console.print(old_result_kept(trial, why), markup=False, highlight=False)

    def _take_row(self, trial: TrialRecord) -> None:
        self._standings.note(trial)
        self._running.pop(trial.id, None)
        self._bar.update(self._task, completed=self._standings.ended, total=self._standings.total)

    def attempt_failed(self, trial: TrialRecord, reason: str) -> None:
        """The row goes until the next attempt; the failure stays above the table."""
        self._standings.note(trial)
        self._running.pop(trial.id, None)
        self._live.console.print(another_attempt(trial, reason), markup=False, highlight=False)

    def _draw(self) -> Group:
        return Group(self._bar, self._running_table(), self._leader_table())

    def _running_table(self) -> Text:
        rows = []
        for trial, point in list(self._running.values()):
            told = (_done(point, trial), f"{point.seconds:.1f}", measure(point.loss)) if point else ("starting", "", "")
            rows.append([describe(trial), *told])
        return self._table(["running", "images", "seconds", "loss"], rows, spare=("seconds", "images"))

    def _leader_table(self) -> Text:
        rows = []
        for group in self._standings.groups():
            if group.leader:
                leader = group.leader
                cells = self._words_of(leader.parameters), measure(leader.area), measure(leader.minimum_loss)
            else:
                cells = f"{self._words_of(group.key)}: none yet", "", measure(group.best_minimum_loss)
            rows.append([*cells, f"{group.qualified}/{group.competitors}"])
        return self._table(["leader", "area", "minimum loss", "qualified"], rows, spare=("qualified", "minimum loss"))

    def _table(self, headers: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str]) -> Text:
        """A table as wide as the console allows now; its first column has words, and keeps its width if it can."""
        width, first = self._console.width, headers[0]
        steady = [[f"{row[0]:<{_STEADY if width >= 2 * _STEADY else 0}}", *row[1:]] for row in rows]
        lengths = (min(_STEADY, width // 2), width)
        table = fit_table(headers, steady, width, left=[first], words=[first], spare=spare, lengths=lengths)
        return Text("\n").join([Text("\n".join(table.header), style="dim"), *map(Text, table.lines)])


def another_attempt(trial: TrialRecord, reason: str) -> str:
    """The line about an attempt that has failed."""
    return f"{describe(trial)}: attempt {trial.attempt} failed, {' '.join(reason.split())}; trying again"


def old_result_kept(trial: TrialRecord, why: str) -> str:
    """The line about a repetition without a result."""
    return f"{describe(trial)}: {' '.join(why.split())}; it keeps its old result"


def plural(count: int, noun: str) -> str:
    """1 trial, 2 trials."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def describe(trial: TrialRecord) -> str:
    """A trial's parameters in a few words: "workers 2, batch size 64, learning rate 0.1"."""
    return _in_words(shown_parameters(trial))


def _in_words(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {parameter(value)}" for name, value in parameters.items())


def _done(point: LossPoint, trial: TrialRecord) -> str:
    """The part of a trial's images that it has seen; where nobody knows its end, as of a command, its steps."""
    if whole := trial.whole_images:
        return f"{(point.images or 0) / whole:.0%}"
    return f"step {point.step}"
