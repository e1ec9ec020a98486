"""From what another program has recorded of a run to a trial, with word of what finds no place in it."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sweeper.errors import LogFormatError
from sweeper.interchange.foreign.base import ForeignOptions
from sweeper.interchange.foreign.known_names import accuracy_name, own_parameters, test_loss_name
from sweeper.interchange.importing import shown_name
from sweeper.interchange.logs.base import Keys, Line, Row
from sweeper.interchange.logs.column_names import find_name
from sweeper.interchange.logs.log import curve_points, in_order
from sweeper.interchange.logs.time_origin import DecidedOrigin, TimeOrigin, decide_origin
from sweeper.interchange.parameters import named_parameters
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec.axes import WORKERS
from sweeper.store.archived import ArchivedAttempt, ArchivedSweep, ArchivedTrial
from sweeper.store.records import AttemptRecord, EvaluationRecord, TrialRecord

_SHOWN = 8  # names in a note


@dataclass(frozen=True)
class Value:
    """One value of a metric; `moment` in seconds since 1970."""

    step: int
    moment: float
    value: float


@dataclass(frozen=True)
class RecordedRun:
    """A run: its metrics in the order of time, its parameters as they are called there, and `told`, what else there is.

    `state` where the run's own program says how it ended; `began` and `ended` in seconds since 1970.
    """

    name: str
    metrics: Mapping[str, Sequence[Value]]
    parameters: Mapping[str, Any]
    told: Mapping[str, Any] = field(default_factory=dict)
    state: TrialState | None = None
    reason: str = ""
    began: float | None = None
    ended: float | None = None


def new_sweep(name: str) -> ArchivedSweep:
    """An imported sweep, of now."""
    return ArchivedSweep(
        id=secrets.token_hex(4),
        name=shown_name(name),
        origin="import",
        spec=None,
        threshold=None,
        over="seconds",
        group_by=(WORKERS,),
        created_at=datetime.now(UTC),
        stop_asked_at=None,
        gangs=(),
    )


def trials_of(
    sweep: ArchivedSweep, source: Path, runs: Iterable[RecordedRun], options: ForeignOptions, notes: list[str]
) -> Iterator[ArchivedTrial]:
    """A trial for each run that has a loss curve; `notes` get what becomes of the rest when all have been read.

    Raises:
        LogFormatError: no run has one.
        SpecError: parameters that no trial can have.
    """
    account = _Account()
    origin = DecidedOrigin(TimeOrigin(options.origin or TimeOrigin.ZERO))  # a run's clock begins when the run does
    if options.keys.seconds is not None:
        runs = list(runs)
        origin = decide_origin(options.origin, _times(runs, options.keys))
    for run in runs:
        loss = find_name("loss", run.metrics, options.keys.loss)
        if loss is None:
            account.without_loss.append(run.name)
            account.metrics.update(dict.fromkeys(run.metrics))
            continue
        yield _Trial(sweep, source, run, account, origin).made(loss, options)
        account.trials += 1
    if not account.trials:
        raise _no_curve(source, account, options)
    if options.keys.seconds is None:
        notes.append("seconds are those of the clock since each run began, with all that it did")
    notes += [*account.notes(), *origin.notes]


def _times(runs: Iterable[RecordedRun], keys: Keys) -> Iterator[tuple[str, list[float]]]:
    """The seconds that each run with a loss has reported, by its name."""
    for run in runs:
        seconds = find_name("seconds", run.metrics, keys.seconds)
        if seconds is not None and find_name("loss", run.metrics, keys.loss) is not None:
            yield run.name, [value.value for value in run.metrics[seconds] if math.isfinite(value.value)]


@dataclass
class _Account:
    """What is to be said of the runs of a sweep."""

    trials: int = 0
    without_loss: list[str] = field(default_factory=list)
    metrics: dict[str, None] = field(default_factory=dict)
    last_only: dict[str, None] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)

    def say(self, what: str, run: str) -> None:
        """Put down a sentence on a run."""
        self.said.setdefault(what, []).append(run)

    def notes(self) -> list[str]:
        """A sentence on each kind of thing."""
        found = [f"{_names(runs)}: {what}" for what, runs in self.said.items()]
        if self.without_loss:
            found.append(f"runs without a loss are left out: {_names(self.without_loss)}")
        if self.last_only:
            found.append(f"of these metrics only the last value is kept, with the attempt: {_names(self.last_only)}")
        return found


@dataclass(frozen=True)
class _Trial:
    """One run on its way to a trial."""

    sweep: ArchivedSweep
    source: Path
    run: RecordedRun
    account: _Account
    origin: DecidedOrigin

    def made(self, loss: str, options: ForeignOptions) -> ArchivedTrial:
        """The trial, whose loss is the metric of this name."""
        run = self.run
        (parameters,) = named_parameters(
            [f"{self.source}: {run.name}"],
            [run.name],
            options.assignments,
            options.pattern,
            [own_parameters(run.parameters)],
        )
        written, used = self._points(loss, options)
        points = self.origin.applied(written)
        evaluations, placed = self._evaluations(points)
        rest = {name: values for name, values in run.metrics.items() if name not in (*used, *placed)}
        self.account.last_only.update(dict.fromkeys(rest))
        last = {name: _json_number(values[-1].value) for name, values in rest.items() if values}
        effective = {**run.told, **({"metrics": last} if last else {}), **self.origin.told(written)}
        return self._trial(parameters, points, evaluations, effective)

    def _points(self, loss: str, options: ForeignOptions) -> tuple[tuple[LossPoint, ...], list[str]]:
        """The curve, and the metrics that it was made of."""
        run, values = self.run, self.run.metrics[loss]
        seconds = find_name("seconds", run.metrics, options.keys.seconds) if options.keys.seconds else None
        images = find_name("images", run.metrics)
        if options.keys.seconds and seconds is None:
            raise LogFormatError(
                f"{self.source}: run {run.name} has no metric {options.keys.seconds!r}; it has {_names(run.metrics)}",
                "leave out --seconds-key, and the clock's seconds are taken",
            )
        times = {value.step: value.value for value in run.metrics[seconds]} if seconds else {}
        counts = {value.step: value.value for value in run.metrics[images]} if images else {}
        zero = min(value.moment for value in values) if run.began is None else run.began
        rows, untimed = [], 0
        for number, value in enumerate(values, start=1):
            at = times.get(value.step, math.nan) if seconds else max(value.moment - zero, 0.0)
            if math.isfinite(at):
                line = Line(number, f"step {value.step}")
                rows.append(Row(line, at, value.value, float(value.step), counts.get(value.step)))
            else:
                untimed += 1
        used, out_of_order = in_order(tuple(rows))
        lost = untimed + len(out_of_order)
        if lost:
            self.account.say("losses without seconds, or out of order in time, are left out", f"{run.name} ({lost})")
        if not used:
            raise LogFormatError(f"{self.source}: run {run.name}: no loss has seconds", "leave out --seconds-key")
        points, notes = curve_points(used)
        for note in notes:
            self.account.say(note, run.name)
        return points, [name for name in (loss, seconds, images) if name]

    def _evaluations(self, points: Sequence[LossPoint]) -> tuple[list[EvaluationRecord], list[str]]:
        """Accuracies at steps whose images are known, and the metrics that have gone into them."""
        accuracy, loss = accuracy_name(self.run.metrics), test_loss_name(self.run.metrics)
        at = {point.step: point for point in points if point.images is not None}
        if accuracy is None or not at:
            return [], []
        values = {value.step: value.value for value in self.run.metrics[accuracy]}
        if not all(step in at and 0 <= value <= 1 for step, value in values.items()):
            return [], []
        losses = {value.step: value.value for value in self.run.metrics[loss]} if loss else {}
        found = [
            EvaluationRecord(step, at[step].images or 0, at[step].seconds, losses.get(step, math.nan), value)
            for step, value in sorted(values.items())
        ]
        # A test loss at other steps has no accuracy to go with.
        return found, [accuracy, *([loss] if loss and set(losses) <= set(values) else [])]

    def _trial(
        self,
        parameters: dict[str, Any],
        points: tuple[LossPoint, ...],
        evaluations: list[EvaluationRecord],
        effective: dict[str, Any],
    ) -> ArchivedTrial:
        run, summary = self.run, self.origin.ranked(summarize(points))
        trial_id = f"{self.sweep.id}-{self.account.trials:04d}"
        state = run.state or TrialState.COMPLETED
        if state is TrialState.COMPLETED and not summary.finite:
            state = TrialState.DIVERGED
        source = f"{shown_name(str(self.source))}: {run.name}"
        reason = f"{run.reason}, imported from {source}" if run.reason else f"imported from {source}"
        began = datetime.fromtimestamp(run.began, UTC) if run.began is not None else self.sweep.created_at
        ended = datetime.fromtimestamp(run.ended, UTC) if run.ended is not None else began
        record = TrialRecord(
            id=trial_id,
            sweep_id=self.sweep.id,
            position=self.account.trials,
            workers=parameters[WORKERS],
            parameters=parameters,
            config={},
            resources={},
            state=state,
            reason=reason,
            attempt=1,
            **vars(summary),
        )
        attempt = AttemptRecord(
            trial_id, 1, None, state.value, run.reason, "", effective, None, None, source, began, ended
        )
        return ArchivedTrial(record, (ArchivedAttempt(attempt, points, tuple(evaluations), {}),))


def _no_curve(source: Path, account: _Account, options: ForeignOptions) -> LogFormatError:
    if not account.metrics:
        return LogFormatError(f"{source}: none of its runs has values over time", "name a store that has")
    wanted = "for the loss (such as loss, train_loss)" if options.keys.loss is None else repr(options.keys.loss)
    return LogFormatError(
        f"{source}: no run has a metric {wanted}; there are {_names(account.metrics)}",
        "choose among these with --loss NAME",
    )


def _names(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return ", ".join(known[:_SHOWN]) + more


def _json_number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
