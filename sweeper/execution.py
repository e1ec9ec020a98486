"""Executing sweeps here: what is looked at before anything starts, and the run that all ways of starting one share."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

from pydantic import ValidationError

from engine.config import TrainingConfig, is_factory
from engine.data import fetch
from engine.factories import check_factory
from engine.operators import check_operators, needs_operators
from sweeper.answers.best import best_of
from sweeper.answers.further_seeds import further_seeds
from sweeper.answers.race_ahead import race_ahead
from sweeper.errors import NotFoundError, RepeatedError, SpecError, StoreError
from sweeper.gangs import EXECUTORS, Growth, make_executor
from sweeper.gangs.launcher import find_launcher
from sweeper.gangs.machine import local_capacity
from sweeper.gangs.processes import kill_gangs
from sweeper.gangs.slurm.executor import own_job
from sweeper.gangs.slurm.own_job import allocation_is_ending
from sweeper.gangs.worlds import check_one_world
from sweeper.guides import guide_for
from sweeper.guides.samplers import first_points, further_points
from sweeper.paths import checkpoints_folder, make_logs_folder
from sweeper.plan import PlannedTrials, outermost, plan
from sweeper.plan.trial import KEPT, TrialSpec, TrialState
from sweeper.ranking.cost import stored_axis
from sweeper.scheduling.admission import check_seating, shape_of
from sweeper.scheduling.interrupts import Interrupts
from sweeper.scheduling.observer import Audience
from sweeper.scheduling.scheduler import Scheduler
from sweeper.spec import SweepSpec
from sweeper.spec.repeats import Race
from sweeper.store import Store, SweepRecord, TrialRecord


@dataclass(frozen=True)
class Execution:
    """How trials are to run: by which executor, on whose Ray, and what an interrupt does.

    With `oversubscribe` ranks share cores and GPUs where the machine has too few, and where other sweeps hold them,
    unless these are to be waited for (`wait_for_seats`). A Ray cluster may have a `growth` still before it. With
    `one_at_a_time` a trial has the machine to itself, as far as this run goes: no neighbour slows it down.
    """

    executor: str
    ray_address: str | None
    finish_running: bool
    oversubscribe: bool
    wait_for_seats: bool = False
    growth: Growth | None = None
    one_at_a_time: bool = False

    @property
    def options(self) -> str:
        """What a command needs to run the trials in the same way, with a space before it; empty for the default."""
        alone = " --one-at-a-time" if self.one_at_a_time else ""
        if self.ray_address:
            return f" --ray-address {shlex.quote(self.ray_address)}{alone}"
        return alone if self.executor == EXECUTORS[0] else f" --executor {self.executor}{alone}"

    @property
    def shares_with_others(self) -> bool:
        """Whether ranks may sit on cores or GPUs that other sweeps hold."""
        return self.oversubscribe and not self.wait_for_seats

    @property
    def is_elsewhere(self) -> bool:
        """Whether gangs run on other hosts than this one: a cluster's, or those of an allocation."""
        return bool(self.ray_address) or self.executor == "slurm"


_HANGS_ON_DERIVED = "is derived and of a setting that may be the best"


@dataclass(frozen=True)
class Rerun:
    """A sweep some of whose trials were run again; the rest are numbers of oversubscribed and derived trials.

    Of those `to_repeat`, `beaten` keep their old results since they can no longer win: their repetitions were pruned,
    or did not begin. `unfinished` keep them since their new attempts failed, or they were stopped.
    """

    sweep: SweepRecord
    to_repeat: int
    beaten: int
    unfinished: int


@dataclass(frozen=True)
class PreparedSweep:
    """A spec with its trials, for which everything that they need was found.

    Those `needed` stand for all of them, and for those to come.
    """

    spec: SweepSpec
    trials: Sequence[TrialSpec]
    needed: Sequence[TrialSpec]


def prepare_sweep(spec: SweepSpec, execution: Execution) -> PreparedSweep:
    """Plan a spec and look for all that its trials need, before a store is made for it; raises as `prepare` does."""
    spec.check_effects()
    trials = plan(spec, first_points)
    needed = [*trials.kinds, *(outermost(spec) if spec.search.learns else [])]
    prepare(needed, execution)
    return PreparedSweep(spec, trials, needed)


def run_sweep(
    store: Store,
    prepared: PreparedSweep,
    execution: Execution,
    audience: Audience,
    *,
    again: bool,
    resume: bool = False,
) -> SweepRecord:
    """Submit a sweep and execute it here.

    Where the store has one of the same spec, it is refused, unless that one is to `resume`, or this is to be one
    `again`.
    """
    spec, trials = prepared.spec, prepared.trials
    if resume and (begun := latest_of(store, spec)):
        return resume_sweep(store, begun.id, execution, audience)
    if not again:
        refuse_repetition(store, spec)
    for note in spec.notes():
        audience.say(f"note: {note}")
    if ahead := race_ahead(spec):
        audience.say(ahead)
    return execute(store, prepared.needed, execution, audience, lambda: store.sweeps.add(spec, trials))


def resume_sweep(
    store: Store,
    sweep_id: str,
    execution: Execution,
    audience: Audience,
    *,
    states: Sequence[TrialState] = (TrialState.PENDING, TrialState.RUNNING),
    added: Sequence[TrialSpec] = (),
    change: Callable[[], object] = lambda: None,
    forget_stop: bool = True,
) -> SweepRecord:
    """Run what waits of a sweep; the sweep as it is then.

    `change` has more of it wait, the trials in `states` and those `added`, and is called when all that these and the
    rest need is found to be there. A stop that was asked for before is forgotten, or holds without `forget_stop`.
    """
    waiting = (trial.planned for trial in store.trials.kinds(sweep_id, states))
    specs = [*waiting, *added, *to_come(store.sweeps.find(sweep_id))]
    prepare(specs, execution)
    change()
    if forget_stop:
        store.sweeps.forget_stop(sweep_id)
    return execute(store, specs, execution, audience, lambda: sweep_id)


def nothing_left(store: Store, sweep: SweepRecord) -> bool:
    """Whether all trials of a sweep have ended and none can be added, as a search adds some, and a race for seeds."""
    if store.trials.kinds(sweep.id, (TrialState.PENDING, TrialState.RUNNING)):
        return False
    spec = _spec_of(sweep)
    return spec is None or (spec.search.method == "grid" and not isinstance(spec.repeats, Race))


def extend_sweep(
    store: Store,
    reference: str,
    spec: SweepSpec,
    execution: Execution,
    audience: Audience,
    tell: Callable[[str], object],
) -> SweepRecord:
    """Add trials to a sweep and run them: those of a grid that it lacks, or those that a search still needs.

    `tell` gets a line on what is added.

    A search takes the sweep to `search.trials` trials in all, with what the sweep's earlier trials have come to. Its
    threshold, axis and groups stay.

    Raises:
        NotFoundError: there is no such sweep.
        SpecError: the spec does not go with the sweep, or adds nothing to it.
    """
    found = store.sweeps.find(reference)
    if spec.search.method != "grid":
        spec = _going_on(found, spec)
    trials = _further_trials(store, found, spec)
    missing = [name for name in found.group_by if any(name not in trial.parameters for trial in trials.kinds)]
    if missing:
        raise SpecError([f"space: sweep {found.id} is grouped by {missing[0]}, which is not swept; add it"])

    def add() -> None:
        new = store.sweeps.extend(found.id, trials)
        if spec.search.method == "grid":
            tell(f"sweep {found.id}: {new} new trials, {len(trials) - new} that it has already")
        else:
            store.sweeps.change_spec(found.id, spec)
            tell(f"sweep {found.id}: the search goes on from {found.trials} to {spec.search.trials} trials")

    needed = [*trials.kinds, *(outermost(spec) if spec.search.learns else [])]
    return resume_sweep(store, found.id, execution, audience, added=needed, change=add)


@dataclass(frozen=True)
class Question:
    """What `best` was asked of a sweep; what is None, or empty, is the sweep's own."""

    by: tuple[str, ...] = ()
    threshold: float | None = None
    over: str | None = None


def add_seeds(
    store: Store,
    reference: str,
    seeds: int,
    question: Question,
    execution: Execution,
    audience: Audience,
    tell: Callable[[str], object],
) -> SweepRecord:
    """Train further seeds of the settings that `best` cannot rule out, so many at most, with all that waits.

    `tell` gets a line on what is added.

    Raises:
        NotFoundError: there is no such sweep.
        SpecError: nothing is to be told apart; see `sweeper.answers.further_seeds`.
    """
    found = store.sweeps.find(reference)
    answer = best_of(store, found, question.by, question.threshold, question.over, recommend=True)
    trials = further_seeds(store, found, answer["groups"], seeds)

    def add() -> None:
        new = store.sweeps.extend(found.id, trials)
        tell(f"sweep {found.id}: {new} new trials, further seeds of settings that cannot be ruled out")

    return resume_sweep(store, found.id, execution, audience, added=trials, change=add)


def _further_trials(store: Store, sweep: SweepRecord, spec: SweepSpec) -> PlannedTrials:
    """The trials of a spec that are known by now; a search that learns thinks of its own when it runs."""
    if spec.search.method == "grid":
        return plan(spec)
    if spec.search.learns:
        return PlannedTrials(spec, [])
    known = [trial.parameters for trial in store.trials.candidates(sweep.id, stored_axis(sweep.over))]
    return PlannedTrials(spec, further_points(spec, known))


def _going_on(sweep: SweepRecord, spec: SweepSpec) -> SweepSpec:
    """A search as the sweep's own from now on.

    Raises:
        SpecError: the sweep has as many trials already, or trials of other settings, which say nothing to a search.
    """
    method, trials = spec.search.method, spec.search.trials or 0
    if trials <= sweep.trials:
        line = f"search.trials: {trials} adds nothing, for sweep {sweep.id} has {sweep.trials} trials"
        raise SpecError([f"{line}; give more: all trials count, earlier ones too"])
    before = _spec_of(sweep)
    if spec.search.learns and (before is None or spec.trial != before.trial or spec.repeats != before.repeats):
        name = "repeats" if before and spec.trial == before.trial else "trial"
        line = f"{name}: is not that of sweep {sweep.id}, and search: {method} compares trials of the same settings"
        raise SpecError([f"{line}; use the sweep's own, search: grid, or another sweep"])
    objective = {"threshold": sweep.threshold, "over": sweep.over, "group_by": sweep.group_by}
    return SweepSpec.model_validate({**spec.model_dump(), "name": sweep.name, "objective": objective})


def rerun_sweep(
    store: Store,
    reference: str,
    execution: Execution,
    audience: Audience,
    *,
    failed: bool = False,
    oversubscribed: bool = False,
    derived: bool = False,
) -> Rerun:
    """Run what failed, or what shared cores or GPUs, once more, with all that waits of the sweep.

    With `derived` those of the derived trials are trained on which the answer of `best` hangs. Oversubscribed trials
    that this machine cannot seat are left out, unless it can seat none. Each of these and the derived ones keeps
    its result until the end of a new attempt replaces it; so too if this call raises.

    Raises:
        NotFoundError: there is no such sweep, or nothing to be run again.
        SeatingError, LaunchError, OperatorsError, DataError, FactoryError: something is missing, and nothing changed.
    """
    sweep = store.sweeps.find(reference)
    again = _to_repeat(store, sweep, execution, audience) if oversubscribed else []
    again += _derived_candidates(store, sweep) if derived else []
    if not (again or (failed and sweep.states.get(TrialState.FAILED))):
        asked = {"has failed": failed, "is oversubscribed": oversubscribed, _HANGS_ON_DERIVED: derived}
        kinds = [kind for kind, wanted in asked.items() if wanted]
        problem = f"sweep {sweep.id}: none of its trials {' or '.join(kinds)}"
        raise NotFoundError(problem, "there is nothing to run again")
    attempts = {trial.id: len(store.attempts.of(trial.id)) for trial in again}
    put_back: list[str] = []

    def change() -> None:
        if failed:
            store.sweeps.try_failed_again(sweep.id)
        for trial in again:
            shutil.rmtree(checkpoints_folder(trial.id), ignore_errors=True)  # a new attempt begins at the beginning
        put_back.extend(store.sweeps.repeat(sweep.id, list(attempts)))

    states = [TrialState.PENDING, TrialState.RUNNING, *([TrialState.FAILED] if failed else [])]
    added = [trial.planned for trial in again]
    try:
        sweep = resume_sweep(store, sweep.id, execution, audience, states=states, added=added, change=change)
    except BaseException:  # an interrupt too
        with suppress(StoreError):
            if put_back and store.sweeps.keep_results(sweep.id, put_back):
                audience.say("trials that were to be repeated keep their old results")
        raise
    return _rerun(store, sweep, again, attempts)


def _derived_candidates(store: Store, sweep: SweepRecord) -> list[TrialRecord]:
    groups = best_of(store, sweep, recommend=True)["groups"]
    return [store.trials.find(trial) for trial in dict.fromkeys(t for g in groups for t in g["derived_candidates"])]


def _to_repeat(store: Store, sweep: SweepRecord, execution: Execution, audience: Audience) -> list[TrialRecord]:
    """The oversubscribed trials that have a result; those that this machine cannot seat only if it can seat none."""
    found = [trial for trial in store.trials.of(sweep.id, KEPT) if trial.oversubscribed]
    if execution.oversubscribe or execution.is_elsewhere:
        return found
    capacity = local_capacity()
    seated = [trial for trial in found if capacity.can_ever_seat(shape_of(trial))]
    if seated and len(seated) < len(found):
        left = f"{len(found) - len(seated)} of {len(found)} oversubscribed trials are left out"
        audience.say(f"{left}: this machine has too few cores or GPUs for them")
    return seated or found


def _rerun(store: Store, sweep: SweepRecord, again: Sequence[TrialRecord], attempts: Mapping[str, int]) -> Rerun:
    """What came of trials, each of which had so many `attempts` before."""
    before = {trial.id: trial.attempt for trial in again}
    kept = [trial.id for trial in store.trials.of(sweep.id, KEPT) if before.get(trial.id) == trial.attempt]
    beaten = 0
    for trial_id in kept:
        new = store.attempts.of(trial_id)[attempts[trial_id] :]
        beaten += new[-1].state == TrialState.PRUNED if new else not sweep.stop_asked
    return Rerun(sweep, len(again), beaten, len(kept) - beaten)


def execute(
    store: Store, trials: Sequence[TrialSpec], execution: Execution, audience: Audience, submit: Callable[[], str]
) -> SweepRecord:
    """Run what waits of the sweep whose id `submit` gives, which is called when all is ready for it."""
    name, address = execution.executor, execution.ray_address
    if name == "ray":
        audience.say(f"joining Ray at {address}" if address else "starting Ray")
    with (
        Interrupts() as interrupts,
        closing(make_executor(name, address, share=execution.shares_with_others, growth=execution.growth)) as executor,
    ):
        check_seating(trials, executor.capacity(), oversubscribe=execution.oversubscribe)
        executor.check_hosts(trials)
        interrupts.defer(kill_gangs, at=2 + execution.finish_running)
        sweep_id = submit()
        sweep = store.sweeps.find(sweep_id)
        try:
            with audience.view(store, sweep) as view:
                scheduler = Scheduler(
                    store,
                    executor,
                    view,
                    interrupts=interrupts.count,
                    finish_running=execution.finish_running,
                    retries=sweep.spec.retries,
                    limits=sweep.spec.limits,
                    oversubscribe=execution.oversubscribe,
                    one_at_a_time=execution.one_at_a_time,
                    guide=guide_for(sweep, store.trials.each(sweep_id), store.attempts.points),
                    is_cut_off=allocation_is_ending,
                )
                scheduler.run(sweep_id)
        except KeyboardInterrupt:
            left = store.sweeps.find(sweep_id)
            audience.say(
                f"interrupted: {left.ended} of {left.total} trials ended; "
                f"`sweeper show {sweep_id}` lists them, `sweeper resume {sweep_id}{execution.options}` goes on"
            )
            raise
    return store.sweeps.find(sweep_id)


def prepare(trials: Sequence[TrialSpec], execution: Execution) -> None:
    """Look for all that the trials need, before anything is submitted or started: seats, MPI, operators, data.

    Raises:
        SeatingError, LaunchError, OperatorsError, DataError, FactoryError: something is missing.
    """
    if execution.executor == "slurm":
        own_job()
    if execution.is_elsewhere:
        make_logs_folder()
        return  # the executor looks at the hosts there once it has them
    check_seating(trials, local_capacity(), oversubscribe=execution.oversubscribe)
    find_launcher()
    make_logs_folder()
    training = [(trial.config, trial.resources) for trial in trials if isinstance(trial.config, TrainingConfig)]
    if {trial.workers for trial in trials if isinstance(trial.config, TrainingConfig)} > {1}:
        check_one_world()  # the first gang of several ranks would tell, after all trials of one
    if any(needs_operators(config) for config, _ in training):
        check_operators(cuda=any(gives.gpus_per_worker > 0 and config.device != "cpu" for config, gives in training))
    check_factories([config for config, _ in training])
    fetch_data([config for config, _ in training])


def refuse_repetition(store: Store, spec: SweepSpec) -> None:
    """See that the store has no sweep of this spec.

    Raises:
        RepeatedError: it has, and how far that one is.
    """
    if same := latest_of(store, spec):
        left = f"`sweeper resume {same.id}` goes on with it, " if same.ended < same.total else ""
        failed = f"`sweeper rerun --failed {same.id}` tries the failed trials again, "
        left += failed if same.states.get(TrialState.FAILED) else ""
        raise RepeatedError(
            f"spec: sweep {same.id} of {store.name} has this spec, and {same.ended} of its {same.total} trials "
            "have ended",
            f"{left}`sweeper best {same.id}` shows it, --again makes another",
        )


def latest_of(store: Store, spec: SweepSpec) -> SweepRecord | None:
    """The latest sweep of this spec, if the store has one."""
    return next((sweep for sweep in store.sweeps.all() if sweep.name == spec.name and _spec_of(sweep) == spec), None)


def _spec_of(sweep: SweepRecord) -> SweepSpec | None:
    """The spec of a sweep, with defaults for later fields; None for an import, or if it is no longer valid."""
    with suppress(ValidationError):
        return sweep.spec.whole()
    return None


def to_come(sweep: SweepRecord) -> list[TrialSpec]:
    """Trials that need all that those may need which a search is still to add; none where none is."""
    if sweep.trials == sweep.total:
        return []
    return outermost(sweep.spec.whole())


def fetch_data(configs: Sequence[TrainingConfig]) -> None:
    """Have each data set of the trials on this machine, decoded, before ranks ask for it all at once."""
    for name, split in dict.fromkeys((config.data, split) for config in configs for split in config.splits):
        if not is_factory(name):
            fetch(name, split)


def check_factories(configs: Sequence[TrainingConfig]) -> None:
    """Look for the modules of models and data of the user's own, which the ranks will import from this folder.

    Raises:
        FactoryError: one is nowhere.
    """
    for name in ("model", "data"):
        for reference in filter(is_factory, dict.fromkeys(getattr(config, name) for config in configs)):
            if os.getcwd() not in sys.path:
                sys.path.insert(0, os.getcwd())  # as ranks have it, and a command that pip has installed has not
            check_factory(f"trial.{name}", reference)
