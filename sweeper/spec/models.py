"""What a user may write: the sweep's spec, from YAML, JSON or Python, checked before anything runs."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from types import UnionType
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from engine.config import BATCH_SIZES, BUDGETS, SEVERAL_WORKERS, Number, PositiveFloat, PositiveInt, TrainingConfig
from sweeper.errors import SpecError
from sweeper.spec.axes import SEED, WORKERS, Range, Scalar, Values, When, expand, parse_axis, same, with_whole_bounds
from sweeper.spec.command import CommandConfig, command_faults
from sweeper.spec.conditions import Part, Point, condition_faults, count, points, without_absent
from sweeper.spec.dimensions import Dimension, Interval, choices
from sweeper.spec.effects import Idle, idle_fields
from sweeper.spec.listed_settings import NAME as LISTED
from sweeper.spec.listed_settings import ListedSettings, with_settings
from sweeper.spec.mixed_batches import is_there_twice, mixture_faults
from sweeper.spec.repeats import Race, Repeats, gives_seeds, planned_seeds, repeats_by_name
from sweeper.spec.reuse import DECISIVE, sharing_faults
from sweeper.spec.search import Search, search_by_name, search_faults, with_trials_inside
from sweeper.spec.sweep_name import checked_name
from sweeper.spec.wording import describe_faults, show_name

Over = Literal["seconds", "images", "steps", "dollars"]
OVER: tuple[str, ...] = get_args(Over)
DOLLARS = "dollars"
_MOST_COUNTED = 200_000  # points, one after the other


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Objective(_Strict):
    """What makes a trial good: the smallest area `over` an axis among the qualified of its group.

    Without a threshold every complete and finite curve qualifies.
    """

    threshold: Annotated[float, Number, Field(allow_inf_nan=False)] | None = None
    over: Over = "seconds"
    group_by: tuple[str, ...] = (WORKERS,)


class Resources(_Strict):
    """What each worker gets for itself, and what that costs by the hour, if anybody says.

    By `placement` a gang on a cluster takes as few hosts as it can, or spreads its ranks over as many as it can.
    """

    cpus_per_worker: PositiveInt = 1
    gpus_per_worker: Annotated[int, Number, Field(ge=0)] = 0
    placement: Literal["pack", "spread"] = "pack"
    dollars_per_worker_hour: Annotated[float, Number, Field(ge=0, allow_inf_nan=False)] | None = None


class Limits(_Strict):
    """When a trial's attempt counts as stuck: seconds in all, and seconds without an event, of any kind."""

    trial_seconds: PositiveFloat | None = None
    stall_seconds: PositiveFloat | None = 1800.0


BY_LOSS = ("median", "asha", "hyperband")  # ways of pruning that look at losses, and may stop who would win


class Prune(_Strict):
    """Which trials are stopped before their end; by `method`.

    `area` stops those that can win no more, `forecast` those that hardly can, the others who is behind. `floor` is a
    loss below which none comes: what is still to come of a curve counts for at least that much. `risk` is the chance
    that a forecast costs a winner, for the sweep as a whole.
    """

    method: Literal["none", "area", "forecast", "median", "asha", "hyperband"] = "none"
    floor: Annotated[float, Number, Field(ge=0, allow_inf_nan=False)] = 0.0
    risk: Annotated[float, Number, Field(gt=0, le=0.5)] = 0.01

    @model_validator(mode="after")
    def _all_is_of_use(self) -> Self:
        if self.floor and self.method == "none":
            raise ValueError(f"a floor of {self.floor:g} does nothing without pruning; set method to area")
        if "risk" in self.model_fields_set and self.risk != type(self)().risk and self.method != "forecast":
            raise ValueError(f"a risk of {self.risk:g} is for forecasts; set method to forecast, or remove it")
        if self.floor and self.method in BY_LOSS:
            raise ValueError(f"a floor of {self.floor:g} does nothing with {self.method}; set method to area")
        return self


def prune_by_name(written: Any) -> Any:
    """`area` for `{method: area}`, as people write it and older stores have it."""
    return {"method": written} if isinstance(written, str) else written


def _kind_of_trial(written: Any) -> str:
    is_command = isinstance(written, CommandConfig) or (isinstance(written, dict) and "command" in written)
    return "kind[command]" if is_command else "kind[training]"


TrialConfig = Annotated[
    Annotated[TrainingConfig, Tag("kind[training]")] | Annotated[CommandConfig, Tag("kind[command]")],
    Discriminator(_kind_of_trial),
]


class SweepSpec(_Strict):
    """A whole sweep; `space` maps fields of `trial` (dotted where nested) and `workers` to their values.

    Where `trial` is a command, `space` maps the names that it has in braces. `points` as a list of settings has values
    of several fields that are taken together. A field with a condition (`when`) has no value, None, in trials in which
    that does not hold: the engine then takes the one in `trial`, and of a command the word is left out.
    """

    name: Annotated[str, AfterValidator(checked_name)]
    trial: TrialConfig = TrainingConfig()
    space: Annotated[
        dict[str, Annotated[list[Scalar] | Range | Values | ListedSettings, BeforeValidator(parse_axis)]],
        Field(min_length=1),
    ]
    objective: Objective = Objective()
    search: Annotated[Search, BeforeValidator(search_by_name)] = Search()
    prune: Annotated[Prune, BeforeValidator(prune_by_name)] = Prune()
    reuse: Literal["none", "equivalent"] = "none"
    repeats: Annotated[Repeats, BeforeValidator(repeats_by_name)] = 1
    retries: Annotated[int, Number, Field(ge=0)] = 0
    resources: Resources = Resources()
    limits: Limits = Limits()

    @cached_property
    def settings(self) -> ListedSettings | None:
        """The settings whose values are taken together, where the space has some."""
        points = self.space.get(LISTED)
        return points if isinstance(points, ListedSettings) else None

    @cached_property
    def swept(self) -> list[str]:
        """The names of all swept fields, those of settings too, in the order of the spec."""
        settings = self.settings
        return [name for key in self.space for name in (settings.names if settings and key == LISTED else [key])]

    @cached_property
    def axes(self) -> dict[str, tuple[Scalar, ...]]:
        """The values of each swept field in the field's own type, `workers` first; [1] where it is not swept."""
        axes = {WORKERS: (1,), **{name: _values(self.trial, name, self._ends(name)) for name in self.swept}}
        return {WORKERS: axes.pop(WORKERS), **axes}

    @cached_property
    def conditions(self) -> dict[str, When]:
        """When a field has a value, of those that only some trials have."""
        return {name: axis.when for name, axis in self.space.items() if isinstance(axis, Range | Values) and axis.when}

    def points(self, alike: Collection[str] = ()) -> Iterator[Point]:
        """The points of a grid: the product of all fields, or of the settings and the other fields.

        Worker counts are outermost, then come the fields in the order of the spec. Of the fields that are `alike` in
        what decides, only the first value is taken, unless conditions or settings name them.
        """
        decide = {name for condition in self.conditions.values() for name in condition}
        decide |= {LISTED} if self.settings else set()
        first_only = set(alike) - decide
        parts = {key: part[:1] if key in first_only else part for key, part in self._parts().items()}
        names = list(self.axes)
        outermost = WORKERS if WORKERS in parts else None
        every = points(parts, self.conditions, outermost)
        listed = self.settings.root if self._mixes_batches and self.settings else ()
        found = ({name: one[name] for name in names} for one in every if not listed or not is_there_twice(one, listed))
        if outermost:
            return found
        places = {workers: place for place, workers in enumerate(self.axes[WORKERS])}
        return iter(sorted(found, key=lambda point: places[point[WORKERS]]))

    def without_absent(self, point: Mapping[str, Scalar]) -> Point:
        """A sampled point, with None for fields whose conditions do not hold in it."""
        return without_absent(point, self.conditions) if self.conditions else dict(point)

    @property
    def size(self) -> int:
        """How many points a grid has; with very many conditions, or points, an upper bound."""
        most = count(self._parts(), self.conditions)
        return most if not self._mixes_batches or most > _MOST_COUNTED else sum(1 for _ in self.points())

    @property
    def _mixes_batches(self) -> bool:
        """Whether listed settings have batch sizes of each worker and of all workers together."""
        names = self.settings.names if self.settings and isinstance(self.trial, TrainingConfig) else ()
        return set(BATCH_SIZES) <= set(names)

    def _parts(self) -> dict[str, Part]:
        parts = {name: self._part(name) for name in self.space}
        return parts if WORKERS in self.swept else {WORKERS: [{WORKERS: 1}], **parts}

    def _part(self, name: str) -> Part:
        if self.settings is None or name != LISTED:
            return [{name: value} for value in self.axes[name]]
        names = self.settings.names
        columns = [_values(self.trial, field, self.settings.values_of(field)) for field in names]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]

    @cached_property
    def dimensions(self) -> dict[str, Dimension]:
        """The swept fields as a search samples them, in the order of `axes`."""
        return {name: self._dimension(name, values) for name, values in self.axes.items()}

    def _dimension(self, name: str, values: Sequence[Scalar]) -> Dimension:
        axis = self.space.get(name)
        if not isinstance(axis, Range) or not axis.open or len(values) < 2:
            return choices(values)
        whole = name == WORKERS or (isinstance(self.trial, TrainingConfig) and _integers(name)) or bool(axis.whole)
        return Interval(axis.low, axis.high, axis.log, whole)

    def _ends(self, name: str) -> list[Scalar] | Range:
        """A field's axis; its bounds where a search takes any number in between."""
        if self.settings and name in self.settings.names:
            return _unlike(self.settings.values_of(name))
        axis = self.space[name]
        assert not isinstance(axis, ListedSettings)
        if isinstance(axis, Values):
            return axis.values
        if self.search.method == "grid" or not isinstance(axis, Range) or not axis.open:
            return axis
        return list(dict.fromkeys((axis.low, axis.high)))

    def axes_of(self, name: str) -> list[Scalar]:
        """The values of a field as they are written; none where it is not swept."""
        if self.settings and name in self.settings.names:
            return self.settings.values_of(name)
        axis = self.space.get(name, [])
        if isinstance(axis, Values):
            return axis.values
        return [] if isinstance(axis, ListedSettings) else expand(axis, integers=False)

    @model_validator(mode="before")
    @classmethod
    def _trials_beside_search(cls, written: Any) -> Any:
        return with_whole_bounds(with_settings(with_trials_inside(written)))

    @model_validator(mode="after")
    def _space_holds(self) -> Self:
        problems: list[str] = []
        for name in dict.fromkeys(name for name in self.swept if self.swept.count(name) > 1):
            problems.append(f"space.{name}: is a field of space.{LISTED}, too; keep one of them")
        listed = self.settings.names if self.settings else []
        for name in dict.fromkeys(name for name in self.swept if name not in listed):
            problems += _axis_faults(self.trial, name, self._ends(name))
        if self.settings:
            problems += _setting_faults(self.trial, self.settings)
        for name, axis in self.space.items():
            if self.search.method == "grid" and isinstance(axis, Range) and axis.open and not axis.log:
                problems.append(f"space.{name}: neither step nor count is given: add one of them, or search: random")
        if isinstance(self.trial, CommandConfig):
            seeds = planned_seeds(self.repeats)
            places = {name: f"{LISTED}[0].{name}" if name in listed else name for name in self.swept}
            problems += command_faults(self.trial, places, self._absent_in_some(), seeds)
        else:
            problems += self._training_faults(self.trial)
        if not problems:
            problems += self._condition_faults()
        problems += self._way_faults()
        problems += self._group_faults()
        if not problems and self.search.method != "grid":
            seeds = planned_seeds(self.repeats)
            problems = search_faults(self.search, self.dimensions, self.conditions, self.objective.group_by, seeds)
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def check_effects(self) -> None:
        """See that each swept field changes something: asked of a new sweep, and not of one that a store has.

        What only one worker makes useless passes: such a sweep is often extended by more workers.

        Raises:
            SpecError: fields that change nothing in any trial.
        """
        problems = [
            f"space.{name}: has no effect in any trial; it needs {idle.needs}: set that, or remove the field"
            for name, idle in self._idle.items()
            if idle.always and idle.needs != SEVERAL_WORKERS
        ]
        if problems:
            raise SpecError(problems)

    @cached_property
    def _idle(self) -> dict[str, Idle]:
        """Fields of several values that have no effect in some trials."""
        trial, listed = self.trial, self.settings.names if self.settings else []
        if not isinstance(trial, TrainingConfig):
            return {}

        def configure(point: Mapping[str, Scalar]) -> TrainingConfig:
            given = {name: value for name, value in point.items() if name != WORKERS and value is not None}
            return replace_field(trial, given)

        found = idle_fields(self.axes, self.without_absent, configure, on_gpus=self.resources.gpus_per_worker > 0)
        return {name: idle for name, idle in found.items() if name not in listed and len(self.axes[name]) > 1}

    def notes(self) -> list[str]:
        """What a person should know of this spec though nothing is wrong with it, one line each."""
        lines = [
            f"space.{name}: has no effect in some trials, for it needs {idle.needs}; trials that differ in nothing "
            "else repeat each other. A `when` leaves them out"
            for name, idle in self._idle.items()
        ]
        if isinstance(self.trial, CommandConfig):
            lines += [
                f"space.{name}: only whole numbers are taken, from {axis.low:g} to {axis.high:g}, for the bounds are "
                f"whole; write low: {axis.low:.1f} for any number in between"
                for name, axis in self.space.items()
                if isinstance(axis, Range) and axis.whole and name != WORKERS
            ]
        return lines

    def _absent_in_some(self) -> dict[str, list[Scalar]]:
        """The values of fields that some trials have none of."""
        values = {name: self.axes_of(name) for name in self.swept}
        return {name: own for name, own in values.items() if None in own or name in self.conditions}

    def _condition_faults(self) -> list[str]:
        if WORKERS in self.conditions:
            return [f"space.{WORKERS}.when: every trial has workers; remove it"]
        searched = {name for name, one in self.dimensions.items() if isinstance(one, Interval)}
        problems = condition_faults(self.conditions, self._parts(), searched)
        if self.search.method != "grid":
            problems += [
                f"objective.group_by: {name!r} is a field that only some trials have, and search is "
                f"{self.search.method}; remove it, or use search: grid"
                for name in self.objective.group_by
                if name in self.conditions
            ]
        return problems

    def _group_faults(self) -> list[str]:
        problems: list[str] = []
        for name in dict.fromkeys(self.objective.group_by):
            if (times := self.objective.group_by.count(name)) > 1:
                problems.append(f"objective.group_by: {name!r} is given {times} times; keep one of them")
            if name != WORKERS and name not in self.swept:
                known = ", ".join([WORKERS, *(key for key in self.swept if key != WORKERS)])
                problems.append(f"objective.group_by: {name!r} is not swept; use one of {known}")
        return problems

    def _way_faults(self) -> list[str]:
        """What of repeats, search, reuse and axis does not go together."""
        problems: list[str] = []
        if self.settings and self.search.method != "grid":
            line = f"is a list of settings, and search: {self.search.method} samples numbers and names"
            problems.append(f"space.{LISTED}: {line}; take search: grid, or sweep the fields by themselves")
        if gives_seeds(self.repeats) and SEED in self.swept:
            given = "auto" if isinstance(self.repeats, Race) else self.repeats
            problems.append(f"repeats: {given} gives the seeds already; remove space.seed or repeats")
        if self.reuse == "equivalent":
            problems += self._sharing_faults()
        if isinstance(self.repeats, Race) and self.search.method != "grid":
            problems.append(f"repeats: auto goes with a grid, and search is {self.search.method}; give a number")
        if self.objective.over == DOLLARS and self.resources.dollars_per_worker_hour is None:
            problems.append("objective.over: dollars needs a rate; give resources.dollars_per_worker_hour")
        return problems

    def _sharing_faults(self) -> list[str]:
        if isinstance(self.trial, CommandConfig):
            return ["reuse: equivalent is for the engine's own training, and trial is a command; remove it"]
        config = self.trial
        for name in DECISIVE.intersection(self.swept):  # some trials may share though others do not
            values = [replace_field(config, {name: value}, _Unrelated) for value in self.axes[name]]
            config = min(values, key=lambda one: len(sharing_faults(one.model_dump(mode="json"))))
        found = sharing_faults(config.model_dump(mode="json"))
        if self.search.method != "grid":
            found.append(f"search is {self.search.method}, whose points seldom share a global batch; use a grid")
        return [f"reuse: equivalent does not hold here: {line}, or remove reuse" for line in found]

    def _training_faults(self, trial: TrainingConfig) -> list[str]:
        problems: list[str] = []
        for alternatives in (BATCH_SIZES, BUDGETS):
            swept = [name for name in alternatives if name in self.swept]
            if len(swept) > 1 and not (alternatives == BATCH_SIZES and self._mixes_batches):
                problems.append(f"space: {' and '.join(swept)} exclude each other; keep one of them")
        if self._mixes_batches and self.settings:
            problems += mixture_faults(self.settings.root, f"space.{LISTED}")
        if "cuda" in (trial.device, *self.axes_of("device")) and not self.resources.gpus_per_worker:
            problems.append("resources.gpus_per_worker: 0 and device cuda exclude each other; give at least 1")
        return problems


def parse_config(written: dict[str, Any]) -> TrainingConfig | CommandConfig:
    """A trial's settings as the store has them; raises pydantic's ValidationError."""
    return (CommandConfig if "command" in written else TrainingConfig).model_validate(written)


def parse_spec(written: Any) -> SweepSpec:
    """The spec in a mapping read from a file or a request.

    Raises:
        SpecError: one line for each fault, with the field, the value and the remedy.
    """
    if not isinstance(written, dict):
        got = "nothing" if written is None else type(written).__name__
        raise SpecError([f"spec: expected a mapping with name and space, got {got}; see docs/spec.md"])
    try:
        spec = SweepSpec.model_validate(written)
    except ValidationError as error:
        raise SpecError(describe_faults(error, SweepSpec)) from None
    spec.check_effects()
    return spec


class _Unrelated(TrainingConfig):
    """Settings each of which is right alone; whether they fit each other is asked of whole points of the space."""

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        return self


def replace_field(
    config: TrainingConfig, changes: dict[str, Any], kind: type[TrainingConfig] = TrainingConfig
) -> TrainingConfig:
    """`config` with fields changed, nested ones by dotted path; raises pydantic's ValidationError.

    A swept batch size, or length of the run, replaces the other ways of giving it.
    """
    written = config.model_dump(exclude_unset=True)
    for alternatives in (BATCH_SIZES, BUDGETS):
        if changes.keys() & set(alternatives):
            for name in alternatives:
                written.pop(name, None)
    for name, value in changes.items():
        *parents, leaf = name.split(".")
        place = written
        for parent in parents:
            place = place.setdefault(parent, {})
        place[leaf] = value
    return kind.model_validate(written)


def field_value(config: TrainingConfig, name: str) -> Any:
    """The value of a field by dotted path."""
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return value


def sweepable_fields() -> list[str]:
    """All names that `space` may hold."""
    names = [WORKERS]
    for name, field in TrainingConfig.model_fields.items():
        nested = field.annotation
        if isinstance(nested, type) and issubclass(nested, BaseModel):
            names += [f"{name}.{inner}" for inner in nested.model_fields]
        else:
            names.append(name)
    return names


def _values(trial: TrainingConfig | CommandConfig, name: str, axis: list[Scalar] | Range) -> tuple[Scalar, ...]:
    if name == WORKERS:
        return tuple(_worker_count(value) for value in expand(axis, integers=True))
    if isinstance(trial, CommandConfig):
        return _words(axis)
    return tuple(_in_type_of(trial, name, value) for value in expand(axis, integers=_integers(name)))


def _in_type_of(trial: TrainingConfig, name: str, value: Scalar) -> Scalar:
    """A value as the field of this name has it; None, for none, as it is. Raises pydantic's ValidationError."""
    if value is None:
        return None
    found: Scalar = field_value(replace_field(trial, {name: value}, _Unrelated), name)
    return found


def _words(axis: list[Scalar] | Range) -> tuple[Scalar, ...]:
    """A command's values: whole numbers of a range without a decimal point, as programs expect them."""
    values = expand(axis, integers=False)
    if not isinstance(axis, Range):
        return tuple(values)
    return tuple(int(value) if isinstance(value, float) and value.is_integer() else value for value in values)


def _integers(name: str) -> bool:
    """Whether a field, by dotted path, holds whole numbers and no others."""
    kind: Any = TrainingConfig
    for part in name.split("."):
        model = next((one for one in _kinds_in(kind) if isinstance(one, type) and issubclass(one, BaseModel)), None)
        if model is None or part not in model.model_fields:
            return False
        kind = model.model_fields[part].annotation
    kinds = _kinds_in(kind)
    return int in kinds and float not in kinds


def _kinds_in(annotation: Any) -> list[Any]:
    """The types that an annotation allows: those of a union, without what `Annotated` says of them."""
    if get_origin(annotation) is Annotated:
        return _kinds_in(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for one in get_args(annotation) for kind in _kinds_in(one)]
    return [annotation]


def _worker_count(value: Scalar) -> int:
    if isinstance(value, bool | str | None) or value != int(value) or value < 1:
        raise ValueError(f"space.{WORKERS}: {value!r} is not a worker count; give a whole number of at least 1")
    return int(value)


def _name_faults(trial: TrainingConfig | CommandConfig, name: str, place: str) -> list[str]:
    """What is wrong with the name of a swept field, which stands at a `place` in the spec."""
    if isinstance(trial, CommandConfig):
        fits = name == WORKERS or name.isidentifier()
        return [] if fits else [f"{place}: cannot stand in braces; take letters, digits and _"]
    fields = sweepable_fields()
    if name in fields:
        return []
    inner = [field for field in fields if field.startswith(f"{name}.")]
    if inner:
        return [f"{place}: is a group of fields; write {' or '.join(inner)}"]
    near = difflib.get_close_matches(name.removeprefix("trial."), fields, n=1)
    return [f"{place}: unknown key; " + (f"did you mean {near[0]}?" if near else f"known are {', '.join(fields)}")]


def _axis_faults(trial: TrainingConfig | CommandConfig, name: str, axis: list[Scalar] | Range) -> list[str]:
    """What is wrong with a field that is swept by itself."""
    if problems := _name_faults(trial, name, f"space.{show_name(name)}"):
        return problems
    is_word = isinstance(trial, CommandConfig) and name != WORKERS
    values = list(_words(axis)) if is_word else expand(axis, integers=name == WORKERS or _integers(name))
    if not values:
        return [f"space.{name}: is empty; give at least one value or remove the key"]
    if is_word:
        as_passed = [str(value) for value in values if value is not None]
        return _repetitions(name, as_passed) or _repetitions(name, values)
    if None in values:
        return [f"space.{name}: None is no single value; give numbers, names, true or false"]
    checked = [_checked(trial, name, value, name) for value in values]
    normal = [one for found, _ in checked for one in found]
    return [fault for _, faults in checked for fault in faults] + _repetitions(name, normal)


def _setting_faults(trial: TrainingConfig | CommandConfig, settings: ListedSettings) -> list[str]:
    """What is wrong with the fields of listed settings, each with its place in the list."""
    problems = [
        fault for name in settings.names for fault in _name_faults(trial, name, f"space.{LISTED}[0].{show_name(name)}")
    ]
    if problems:
        return problems
    return [
        fault
        for number, setting in enumerate(settings.root)
        for name, value in setting.items()
        for fault in _checked(trial, name, value, f"{LISTED}[{number}].{name}")[1]
    ]


def _checked(
    trial: TrainingConfig | CommandConfig, name: str, value: Scalar, place: str
) -> tuple[Sequence[Scalar], list[str]]:
    """A value in its field's own type, or what is wrong with it; `place` is where it stands in the space."""
    try:
        return _values(trial, name, [value]), []
    except ValidationError as error:
        return (), describe_faults(error, TrainingConfig, prefix="space", only=place, value=value)
    except (ValueError, OverflowError):
        return (), [f"space.{place}: {value!r} is not a worker count; give a whole number of at least 1"]


def _unlike(values: Sequence[Scalar]) -> list[Scalar]:
    """Each value once."""
    return [value for place, value in enumerate(values) if not any(same(value, one) for one in values[:place])]


def _repetitions(name: str, values: Sequence[Scalar]) -> list[str]:
    alike: dict[tuple[bool, Scalar], list[Scalar]] = {}
    for value in values:
        alike.setdefault((isinstance(value, bool), value), []).append(value)
    return [_repetition(name, those) for those in alike.values() if len(those) > 1]


def _repetition(name: str, values: Sequence[Scalar]) -> str:
    written = list(dict.fromkeys(map(repr, values)))
    if len(written) > 1:
        return f"space.{name}: {' and '.join(written)} are the same number; keep one of them"
    return f"space.{name}: {written[0]} is given {len(values)} times; keep one of them"
