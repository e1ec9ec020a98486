"""The Python interface: sweeps as pandas data frames and matplotlib figures, and a way to run them.

    import sweeper

    sweep = sweeper.open("sqlite:///sweeper.db").sweep("latest")
    sweep.best(by=["workers"])
    sweep.figure("heatmap").savefig("heatmap.png")
    sweep = sweeper.run("sweep.yaml", executor="local")

A `Sweep` reads the store each time it is asked, so a sweep that runs can be watched. `sweeper.client.Client` has the
same objects for the sweeps of a service.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import pandas as pd

from sweeper.answers.best import best_answer
from sweeper.answers.forecast import forecast_answer
from sweeper.answers.sweeps import list_answer, show_answer, sweep_answer
from sweeper.errors import MissingPackageError, NotFoundError, UsageError
from sweeper.store import Store, open_store, read_store
from sweeper.store.store import DEFAULT_URL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sweeper.gangs import Growth
    from sweeper.spec import SweepSpec

FIGURES = "sweeper.figures"  # the group of entry points that draw figures; each is called with a store and a sweep
STORE_VARIABLE = "SWEEPER_STORE"
_SHOWN = 20  # rows of a sweep that a notebook shows
_OF_TRIAL = ("trial", "state")
_OF_CURVE = ("at_chance", "state")
_MEASURED = (
    "area",
    "area_is_bound",
    "minimum_loss",
    "final_loss",
    "seconds",
    "images",
    "steps",
    "points",
    "accuracy",
    "dollars",
    "attempt",
    "oversubscribed",
    "at_chance",
    "derived_from",
    "reason",
)
_OF_POINT = ("attempt", "step", "images", "seconds", "loss")
_ESTIMATES = ("area", "minimum_loss", "seconds", "seconds_per_step", "images_per_second", "dollars", "area_dollars")
_OF_FORECAST = (
    *(f"{name}{end}" for name in _ESTIMATES for end in ("", "_low", "_high")),
    "chance",
    "steps",
    "images",
    "curve",
    "step",
)
_OF_WINNER = ("area", "minimum_loss", "seconds", "images", "accuracy", "repeats")
_OF_RECOMMENDED = ("expected_area", "probability", "expected_regret", "qualifies", "more_seeds")


class SweepSource(Protocol):
    """Where a `Sweep` reads: a store, or a service; each method raises the library's clear errors."""

    def status(self, reference: str) -> dict[str, Any]:
        """The sweep, as an entry of `sweeper list --json`."""

    def trials(self, sweep_id: str) -> list[dict[str, Any]]:
        """Its trials in the order of the plan, as in `sweeper show --json`."""

    def best(self, sweep_id: str, **choices: Any) -> dict[str, Any]:
        """As `sweeper best --json`: by, threshold, over, oversubscribed, dollars_per_worker_hour."""

    def forecast(self, sweep_id: str, workers: Sequence[int], **choices: Any) -> dict[str, Any]:
        """As `sweeper forecast --json`: threshold, over, dollars_per_worker_hour, top."""

    def store(self, sweep_id: str) -> Store:
        """A store that has the sweep with its curves; of a service a copy."""

    def close(self) -> None:
        """Give back what was opened for this source alone."""


class StoreSource:
    """A store as a source; `owned` where nobody else closes it."""

    def __init__(self, store: Store, *, owned: bool = False) -> None:
        self._store, self._owned = store, owned

    def status(self, reference: str) -> dict[str, Any]:
        """See `SweepSource.status`."""
        return sweep_answer(self._store.sweeps.find(reference))

    def trials(self, sweep_id: str) -> list[dict[str, Any]]:
        """See `SweepSource.trials`."""
        return list(show_answer(self._store, sweep_id, "plan")["trials"])

    def best(self, sweep_id: str, **choices: Any) -> dict[str, Any]:
        """See `SweepSource.best`."""
        by, threshold, over = choices.get("by", ()), choices.get("threshold"), choices.get("over")
        shared, rate = choices.get("oversubscribed", False), choices.get("dollars_per_worker_hour")
        asked = {"oversubscribed": shared, "rate": rate, "recommend": True}
        return best_answer(self._store, sweep_id, by or (), threshold, over, **asked)

    def forecast(self, sweep_id: str, workers: Sequence[int], **choices: Any) -> dict[str, Any]:
        """See `SweepSource.forecast`."""
        threshold, over = choices.get("threshold"), choices.get("over")
        rate, top = choices.get("dollars_per_worker_hour"), choices.get("top", 10)
        return forecast_answer(self._store, sweep_id, workers, threshold, over, rate=rate, top=top)

    def store(self, _sweep_id: str) -> Store:
        """See `SweepSource.store`."""
        return self._store

    def close(self) -> None:
        """See `SweepSource.close`."""
        if self._owned:
            self._store.close()


class Sweep:
    """One sweep; its methods read what is recorded now.

    Parameters have a column each, after their names in the spec. A parameter that is called like another column gets a
    dot before its name, as in the CSV export.
    """

    def __init__(self, source: SweepSource, reference: str) -> None:
        """`reference` is an id, the beginning of one, a name, or "latest"; raises NotFoundError where it fits none."""
        self._source = source
        found = source.status(reference)
        self.id: str = found["sweep"]
        self.name: str = found["name"]

    @property
    def state(self) -> str:
        """How far the sweep is, in the words of `sweeper list`.

        waiting, running, completed, completed with failures, failed, stopped or interrupted; "completed" alone says
        that every trial has a result.
        """
        return str(self._source.status(self.id)["state"])

    def trials(self) -> pd.DataFrame:
        """A row for each trial, in the order of the plan.

        Columns: trial, state, the parameters, area (loss times seconds), area_is_bound (of a trial that ended early),
        minimum_loss, final_loss, seconds, images, steps, points, accuracy, dollars, attempt, oversubscribed, at_chance,
        derived_from, reason. What a trial does not have is missing (NaN or None).
        """
        return _trial_frame(self._source.trials(self.id))

    def curves(self, trials: Iterable[str] | None = None, *, all_attempts: bool = False) -> pd.DataFrame:
        """A row for each loss point of some trials, of all where none are named.

        Columns: those of the CSV export: trial, the parameters, at_chance, state, attempt, step, images, seconds, loss.

        Args:
            trials: ids of trials, for example `sweep.trials().query("batch_size == 64").trial`.
            all_attempts: earlier attempts as well; otherwise each trial's latest.

        Raises:
            NotFoundError: the sweep has no such trial.
        """
        chosen = self._chosen(trials)
        shared = {
            one["trial"]: {**_parameters(one, "at_chance"), **{name: one[name] for name in _OF_CURVE}} for one in chosen
        }
        points = self._source.store(self.id).attempts.curves(list(shared), all_attempts=all_attempts)
        frame = pd.DataFrame(points, columns=["trial", *_OF_POINT])
        names = dict.fromkeys(name for values in shared.values() for name in values if name not in _OF_CURVE)
        for name in (*names, *_OF_CURVE):
            values = {trial: values.get(name) for trial, values in shared.items()}
            frame[name] = [values[trial] for trial in frame["trial"]]
        return frame[["trial", *names, *_OF_CURVE, *_OF_POINT]]

    def evaluations(self, trials: Iterable[str] | None = None) -> pd.DataFrame:
        """A row for each evaluation on the test set, of each trial's latest attempt.

        Columns: trial, the parameters, state, step, images, seconds of training before it, loss, accuracy in [0, 1].
        """
        found = self._source.store(self.id).attempts.evaluations_by_trial(self.id)
        rows = [
            {"trial": trial["trial"], **_parameters(trial, "accuracy"), "state": trial["state"], **vars(evaluation)}
            for trial in self._chosen(trials)
            for evaluation in found.get(trial["trial"], ())
        ]
        return _tidy(rows, ["step", "images", "seconds", "loss", "accuracy"])

    def phases(self, trials: Iterable[str] | None = None) -> pd.DataFrame:
        """A row for each phase of each trial's latest attempt.

        Columns: trial, the parameters, state, phase (for example "compute"), seconds in all, seconds_per_step (mean).
        The phases add up to the trial's seconds, apart from "evaluation" and "checkpoint".
        """
        chosen = self._chosen(trials)
        found = self._source.store(self.id).views.phases([trial["trial"] for trial in chosen])
        rows = [
            {
                "trial": trial["trial"],
                **parameters,
                "state": trial["state"],
                "phase": name,
                "seconds": seconds,
                "seconds_per_step": one.per_step.get(name),
            }
            for trial in chosen
            if (one := found.get(trial["trial"]))
            for parameters in [_parameters(trial, "phase", "seconds_per_step")]
            for name, seconds in one.seconds.items()
        ]
        return _tidy(rows, ["phase", "seconds", "seconds_per_step"])

    def best(
        self,
        by: str | Sequence[str] | None = None,
        threshold: float | None = None,
        over: str | None = None,
        *,
        oversubscribed: bool = False,
        dollars_per_worker_hour: float | None = None,
    ) -> pd.DataFrame:
        """A row for each group with its winner; one without a qualified trial has no winner, and its row stays.

        Columns: what makes the group, trials, qualified, best_minimum_loss, winner (the id of its trial), the winner's
        other parameters, area, minimum_loss, seconds, images, accuracy, repeats; then the trial of the recommended
        setting and what is expected of it: recommended, expected_area, probability, expected_regret, qualifies,
        more_seeds (see `sweeper.answers.recommendation`), missing where nothing is recommended.

        Args:
            by: the parameter or parameters that make the groups; the sweep's own by default.
            threshold: a loss that a curve must reach to qualify; the sweep's own by default.
            over: axis of the area, "seconds", "images", "steps" or "dollars"; the sweep's own by default.
            oversubscribed: rank over seconds also the trials whose ranks shared cores or GPUs.
            dollars_per_worker_hour: price of a worker; the sweep's own by default.

        Raises:
            SpecError: a parameter, an axis or a threshold that cannot be used.
        """
        by = [by] if isinstance(by, str) else by
        choices = {"by": list(by) if by else None, "threshold": threshold, "over": over}
        price = {"dollars_per_worker_hour": dollars_per_worker_hour}
        answer = self._source.best(self.id, **choices, **price, oversubscribed=oversubscribed)
        return pd.DataFrame([_group_row(group) for group in answer["groups"]])

    def forecast(
        self,
        workers: int | Sequence[int],
        threshold: float | None = None,
        over: str | None = None,
        *,
        dollars_per_worker_hour: float | None = None,
        top: int = 10,
    ) -> pd.DataFrame:
        """A row for each of the best settings at worker counts that nobody has run, as `sweeper forecast` has them.

        Columns: workers, the other parameters, area, minimum_loss, chance, seconds, seconds_per_step,
        images_per_second, steps, images, dollars, area_dollars, curve, step. An estimate has its interval in the two
        columns `…_low` and `…_high`. A model whose losses do not follow has its times and costs only: its area,
        minimum_loss, chance, area_dollars and curve are missing, and `frame.attrs["note"]` says why.

        Args:
            workers: a worker count, or several.
            threshold: a loss that a curve must reach to qualify; the sweep's own by default.
            over: axis of the area, "seconds", "images", "steps" or "dollars"; the sweep's own by default.
            dollars_per_worker_hour: price of a worker; the sweep's own by default.
            top: settings of each worker count.

        Raises:
            SpecError: nothing can be forecast, or a choice that cannot be used.
        """
        counts = [workers] if isinstance(workers, int) else list(workers)
        choices = {"threshold": threshold, "over": over, "dollars_per_worker_hour": dollars_per_worker_hour}
        answer = self._source.forecast(self.id, counts, **choices, top=top)
        found = [_forecast_row(one) for count in answer["workers"] for one in (*count["best"], *count["times"])]
        names = dict.fromkeys(name for row in found for name in row if name not in _OF_FORECAST)
        frame = pd.DataFrame(found, columns=[*names, *_OF_FORECAST])
        frame.attrs["note"] = answer["note"]
        return frame

    def figure(self, name: str = "heatmap", **options: Any) -> Figure:
        """A figure as `sweeper plot` draws it: heatmap, candidates, histogram, curves, accuracy, phases, operations,
        scaling, coordinates, timeline.

        `options` are those of `sweeper plot`: threshold, over, dollars_per_worker_hour, oversubscribed, and what the
        figure has beside: `error=True` of accuracy.

        Raises:
            FigureError: there is no such figure, or it cannot be drawn from what the sweep has.
        """
        found = entry_points(group=FIGURES)
        if not found:
            raise MissingPackageError("figures: the package `dashboards` is not installed", "reinstall sweeper")
        draw: Callable[..., Figure] = next(iter(found)).load()
        drawn = draw(self._source.store(self.id), self.id, name, **options)
        # Notebooks show by themselves only figures of pyplot, which keeps every figure that it has made.
        drawn._repr_png_ = partial(_as_png, drawn)  # type: ignore[attr-defined]
        return drawn

    def close(self) -> None:
        """Close what was opened for this sweep alone: the store of `sweeper.run`, or the copy of a service's sweep."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        found = self._source.status(self.id)
        return f"<Sweep {self.name} ({self.id}): {found['state']}, {found['ended']} of {found['trials']} trials ended>"

    def _repr_html_(self) -> str:
        """For notebooks: how far it is, and its trials with the smallest areas."""
        from html import escape

        found, trials = self._source.status(self.id), self.trials()
        table = (
            trials.sort_values(["area_is_bound", "area"], na_position="last")
            .head(_SHOWN)
            .dropna(axis="columns", how="all")
        )
        more = f"<p>{len(trials) - _SHOWN} more trials</p>" if len(trials) > _SHOWN else ""
        heading = f"<b>{escape(self.name)}</b> ({self.id}): {escape(found['state'])}, {found['ended']} of "
        return f"<p>{heading}{found['trials']} trials ended</p>{table.to_html(index=False)}{more}"

    def _chosen(self, trials: Iterable[str] | None) -> list[dict[str, Any]]:
        found = self._source.trials(self.id)
        if trials is None:
            return found
        by_id = {trial["trial"]: trial for trial in found}
        wanted = [trials] if isinstance(trials, str) else list(trials)
        if unknown := [one for one in wanted if one not in by_id]:
            raise NotFoundError(f"trial {unknown[0]!r}: no such trial in sweep {self.id}", "`trials()` lists them")
        return [by_id[one] for one in wanted]


class Sweeps:
    """The sweeps of a store; `sweeper.open` gives it. It closes as a context manager, or by `close`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def sweep(self, reference: str = "latest") -> Sweep:
        """A sweep by its id, the beginning of its id, its name (the newest of it), or "latest"."""
        return Sweep(StoreSource(self._store), reference)

    def sweeps(self) -> pd.DataFrame:
        """A row for each sweep, newest first: sweep, name, state, origin, trials, ended, created_at (in UTC)."""
        names = ["sweep", "name", "state", "origin", "trials", "ended", "created_at"]
        frame = pd.DataFrame(list_answer(self._store)["sweeps"], columns=names)
        return frame.assign(created_at=pd.to_datetime(frame["created_at"]))

    def close(self) -> None:
        """Close the connections to the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Sweeps of {self._store.name}>"


def open(url: str | Path | None = None) -> Sweeps:
    """The sweeps in a store, to be read: nothing is created.

    Args:
        url: any SQLAlchemy URL, or the path of a SQLite file; SWEEPER_STORE, else `sweeper.db` in the working folder,
            where none is given.

    Raises:
        StoreError: there is no store.
    """
    return Sweeps(read_store(_url(url)))


def run(
    spec: str | Path | Mapping[str, Any] | SweepSpec,
    *,
    store: str | Path | None = None,
    executor: str = "ray",
    ray_address: str | None = None,
    autoscale: str | None = None,
    oversubscribe: bool = False,
    wait_for_seats: bool = False,
    one_at_a_time: bool = False,
    again: bool = False,
    progress: bool = True,
) -> Sweep:
    """Submit a sweep and run it here, as `sweeper run` does; returns it when all its trials have ended.

    An interrupt ends the running trials, keeps what was recorded, and is raised again; `sweeper resume` goes on.

    Args:
        spec: a spec file, or the same as a mapping.
        store: where to keep it, as for `open`; created where it is not there.
        executor: "ray", a private Ray unless `ray_address` names a cluster; "local", which needs no Ray; or "slurm",
            in the SLURM allocation that this process belongs to.
        ray_address: HOST:PORT of a Ray cluster.
        autoscale: how far the cluster's autoscaler may take it, as HOSTSxCPUS or HOSTSxCPUSxGPUS, for example "8x16x4".
        oversubscribe: let ranks share cores or GPUs where there are too few, or others hold them; such trials are
            marked.
        wait_for_seats: with `oversubscribe`, wait for cores and GPUs that others hold.
        one_at_a_time: run no trial beside another, for times that are to be compared.
        again: run it also where the store has a sweep of the same spec.
        progress: show it as on a terminal, or in a notebook.

    Raises:
        SpecError, SeatingError, LaunchError, RepeatedError, StoreError: what `sweeper run` would say.
    """
    from sweeper.execution import Execution, prepare_sweep, run_sweep
    from sweeper.gangs import EXECUTORS
    from sweeper.live_view import in_notebook_or_terminal, silent
    from sweeper.spec import SweepSpec, parse_spec
    from sweeper.spec.file import load_spec

    if executor not in EXECUTORS:
        raise UsageError(f"executor: {executor!r} is not known", f"use one of {', '.join(EXECUTORS)}")
    if ray_address and executor != "ray":
        raise UsageError(f"ray_address: goes with executor ray only, and executor is {executor}", "leave one of them")
    growth = _growth(autoscale, ray_address)
    if isinstance(spec, str | Path):
        parsed = load_spec(Path(spec))
    else:
        parsed = spec if isinstance(spec, SweepSpec) else parse_spec(dict(spec))
    if wait_for_seats and not oversubscribe:
        raise UsageError("wait_for_seats: goes with oversubscribe only", "leave it out; without both, a run waits")
    execution = Execution(
        executor,
        ray_address,
        finish_running=False,
        oversubscribe=oversubscribe,
        wait_for_seats=wait_for_seats,
        growth=growth,
        one_at_a_time=one_at_a_time,
    )
    prepared = prepare_sweep(parsed, execution)
    opened = open_store(_url(store))
    audience = in_notebook_or_terminal() if progress else silent()
    try:
        found = run_sweep(opened, prepared, execution, audience, again=again)
        return Sweep(StoreSource(opened, owned=True), found.id)
    except BaseException:  # an interrupt too
        opened.close()
        raise


def _growth(autoscale: str | None, ray_address: str | None) -> Growth | None:
    from sweeper.gangs import Growth

    if autoscale is None:
        return None
    if not ray_address:
        raise UsageError("autoscale: goes with ray_address only", "leave it out, or name the cluster")
    try:
        return Growth.parse(autoscale)
    except (ValueError, TypeError):
        raise UsageError(f"autoscale: {autoscale!r} is not a cluster size", "write 8x16, or 8x16x4 with GPUs") from None


def _as_png(figure: Figure) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="png")
    return content.getvalue()


def _url(given: str | Path | None) -> str:
    if given is None:
        return os.environ.get(STORE_VARIABLE) or DEFAULT_URL
    text = str(given)
    return text if "://" in text else f"sqlite:///{text}"


def _columns(parameters: Mapping[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """Parameters under the names of their columns: one that is taken gets a dot before it, as in the CSV export."""
    return {f".{name}" if name in taken else name: value for name, value in parameters.items()}


def _parameters(trial: Mapping[str, Any], *others: str) -> dict[str, Any]:
    """A trial's parameters under the names of their columns; `others` are columns that not every table has."""
    taken = {"trial", "state", *_OF_POINT, *others}
    return _columns(trial["parameters"], taken)


def _trial_frame(trials: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    rows = [
        {name: trial[name] for name in _OF_TRIAL}
        | _columns(trial["parameters"], {*_OF_TRIAL, *_MEASURED})
        | {name: trial[name] for name in _MEASURED}
        for trial in trials
    ]
    return _tidy(rows, list(_MEASURED), first=list(_OF_TRIAL))


def _group_row(group: Mapping[str, Any]) -> dict[str, Any]:
    winner = group["winner"]
    row = {**group["group"], "trials": group["trials"], "qualified": group["qualified"]}
    row |= {"best_minimum_loss": group["best_minimum_loss"], "winner": winner and winner["trial"]}
    taken = {*row, *_OF_WINNER, "recommended", *_OF_RECOMMENDED}
    parameters = winner["parameters"] if winner else {}
    row |= _columns({n: value for n, value in parameters.items() if n not in group["group"]}, taken)
    row |= {name: winner[name] if winner else None for name in _OF_WINNER}
    told = group.get("recommended") or {}  # a service of an earlier version recommends nothing
    return row | {"recommended": told.get("trial")} | {name: told.get(name) for name in _OF_RECOMMENDED}


def _forecast_row(one: Mapping[str, Any]) -> dict[str, Any]:
    row = _columns(one["parameters"], _OF_FORECAST)
    for name in _ESTIMATES:
        low, high = one.get(f"{name}_interval") or (None, None)
        row |= {name: one.get(name), f"{name}_low": low, f"{name}_high": high}
    return row | {name: one.get(name) for name in ("chance", "steps", "images", "curve", "step")}


def _tidy(rows: Sequence[Mapping[str, Any]], last: Sequence[str], first: Sequence[str] = ("trial",)) -> pd.DataFrame:
    """A frame whose columns stand in one order, however many rows there are."""
    if not rows:
        return pd.DataFrame(columns=[*first, *([] if "state" in first else ["state"]), *last])
    names = dict.fromkeys(name for row in rows for name in row)
    middle = [name for name in names if name not in {*first, *last, "state"}]
    state = [] if "state" in first else ["state"]
    return pd.DataFrame(list(rows), columns=[*first, *middle, *state, *last])
