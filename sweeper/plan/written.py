"""Trials as a store writes them. Those that differ in independent numbers alone are filled into one text.

Making and checking a trial takes as long as filling in fifty, and a plan may have a hundred thousand.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from engine.config import INDEPENDENT, TrainingConfig
from sweeper.errors import SpecError
from sweeper.plan.content import canonical, content, digest
from sweeper.plan.making import trial_at
from sweeper.plan.trial import TrialSpec
from sweeper.spec import SweepSpec
from sweeper.spec.axes import SEED, WORKERS, Scalar
from sweeper.spec.command import CommandConfig
from sweeper.spec.repeats import gives_seeds

_MOST_KEPT = 10_000  # kinds, and values of a field: more are seldom met again
_MARK = secrets.token_hex(8)  # stands where a value goes, in texts in which anything may stand


class WrittenTrial(NamedTuple):
    """A planned trial; all but key and workers is the text of JSON."""

    key: str
    workers: int
    parameters: str
    config: str
    resources: str


def written(trial: TrialSpec) -> WrittenTrial:
    """A trial that was made."""
    config, resources = (one.model_dump(mode="json") for one in (trial.config, trial.resources))
    return WrittenTrial(trial.key, trial.workers, *map(json.dumps, (trial.parameters, config, resources)))


class _Form:
    """A text with places for values, each named."""

    def __init__(self, text: str) -> None:
        start, *rest = text.split(f'"{_MARK} ')
        self._pieces, self._places = [start], list[tuple[int, str]]()
        for part in rest:
            name, _, after = part.partition('"')
            self._places.append((len(self._pieces), name))
            self._pieces += ["", after]

    def filled(self, texts: Mapping[str, str]) -> str:
        """The text with these in its places; by joining, which takes a quarter of the time of formatting."""
        pieces = self._pieces.copy()
        for place, name in self._places:
            pieces[place] = texts[name]
        return "".join(pieces)


class _Kind(NamedTuple):
    """The forms of trials that differ in some fields: `name` is a field's own value, `=name` that of the point."""

    workers: int
    content: _Form
    parameters: _Form
    config: _Form


class Writer:
    """Writes the trials of a spec, the same as if each was made; raises SpecError as `trial_at` does."""

    def __init__(self, spec: SweepSpec) -> None:
        self._spec, self._is_command = spec, isinstance(spec.trial, CommandConfig)
        self._first_seed = self._seed() if gives_seeds(spec.repeats) else None
        self._resources = json.dumps(spec.resources.model_dump(mode="json"))
        self._columns: dict[tuple[str, ...], list[tuple[str, _Field | None]]] = {}
        self._kinds: dict[tuple[Any, ...], _Kind] = {}

    def written(self, point: Mapping[str, Any], repeat: int) -> WrittenTrial:
        """The trial at a point, with the seed of a repeat."""
        try:
            place, texts = self._told_apart(point, repeat)
        except ValidationError:
            return written(trial_at(self._spec, point, repeat))  # which says what is wrong
        kind = self._kinds.get(place)
        if kind is None:
            if len(self._kinds) >= _MOST_KEPT:
                self._kinds.clear()
            places = [name for name in texts if not name.startswith("=")]
            kind = self._kinds[place] = _kind_of(trial_at(self._spec, point, repeat), places)
        key = digest(kind.content.filled(texts))
        return WrittenTrial(
            key, kind.workers, kind.parameters.filled(texts), kind.config.filled(texts), self._resources
        )

    def kind(self, point: Mapping[str, Any], repeat: int) -> Hashable:
        """The same for trials that differ in independent numbers alone; these are checked."""
        try:
            return self._told_apart(point, repeat)[0]
        except ValidationError:
            return trial_at(self._spec, point, repeat).key

    def check(self, axes: Mapping[str, Iterable[Any]]) -> None:
        """See that all values of independent fields are right."""
        for name, values in axes.items():
            field = self._field(name)
            for value in values:
                try:
                    if field and value is not None:
                        field.texts(value)
                except ValidationError:
                    raise SpecError([f"space.{name}: {value!r} cannot be trained; remove it"]) from None

    def _told_apart(self, point: Mapping[str, Any], repeat: int) -> tuple[tuple[Any, ...], dict[str, str]]:
        """What makes a point's kind, the fields with places first, and the texts that go there."""
        if self._first_seed is not None:
            point = {**point, SEED: self._first_seed + repeat}
        names = tuple(point)
        columns = self._columns.get(names)
        if columns is None:
            columns = self._columns[names] = [(name, self._field(name)) for name in names]
        key: list[Any] = []
        texts: dict[str, str] = {}
        for name, field in columns:
            value = point[name]
            if field is None:
                key += (value.__class__, value if value else repr(value))
            elif value is None and not self._is_command:
                key.append(name)
            else:
                texts |= field.texts(value)
        return (names, *key), texts

    def _field(self, name: str) -> _Field | None:
        """How a field's values are written that have a place; None for one that makes the kind."""
        if self._is_command:
            return None if name == WORKERS else _CommandValue(name)
        return _Field(name) if name in INDEPENDENT else None

    def _seed(self) -> int:
        trial = self._spec.trial
        return int(trial.values.get(SEED) or 0) if isinstance(trial, CommandConfig) else trial.seed


def _kind_of(trial: TrialSpec, places: Iterable[str]) -> _Kind:
    """The kind of a trial, with places for these of its fields."""
    decides = content(trial.config, trial.workers, trial.resources)
    config, parameters = trial.config.model_dump(mode="json"), dict(trial.parameters)
    for name in places:
        for values in (decides["config"], config):
            values = values["values"] if isinstance(trial.config, CommandConfig) else values
            assert name in values
            values[name] = f"{_MARK} {name}"
        parameters[name] = f"{_MARK} ={name}"
    texts = (canonical(decides), json.dumps(parameters), json.dumps(config))
    return _Kind(trial.workers, *map(_Form, texts))


class _Field:
    """How the values of a field of the engine's settings are written, each of which is checked by itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._adapter: TypeAdapter[Any] = TypeAdapter(TrainingConfig.model_fields[name].rebuild_annotation())
        self._texts: dict[Any, dict[str, str]] = {}

    def texts(self, value: Any) -> dict[str, str]:
        """As the settings have it, and as the point has it. Raises pydantic's ValidationError."""
        key = (value.__class__, value) if value else repr(value)  # 0.0 and -0.0 are equal
        found = self._texts.get(key)
        if found is None:
            if len(self._texts) >= _MOST_KEPT:
                self._texts.clear()
            found = self._texts[key] = {self._name: json.dumps(self._own(value)), f"={self._name}": json.dumps(value)}
        return found

    def _own(self, value: Any) -> Any:
        return self._adapter.dump_python(self._adapter.validate_python(value), mode="json")


class _CommandValue(_Field):
    """The same of a value in a command, which is checked with the spec and may be anything."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._adapter = TypeAdapter(dict[str, Scalar])
        self._texts = {}

    def _own(self, value: Any) -> Any:
        return self._adapter.dump_python({self._name: value}, mode="json")[self._name]


def written_trials(trials: Iterable[TrialSpec]) -> Iterator[WrittenTrial]:
    """Trials of any origin, one after the other; those of a plan without making them."""
    own = getattr(trials, "written", None)
    return own() if own else map(written, trials)
