"""A user's own program as a trial: its words, and where the swept values go in them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from sweeper.spec.axes import SEED, WORKERS, Scalar

_PLACE = re.compile(r"\{\{(\w+)\}\}|\{([A-Za-z_]\w*)\}")


def _as_text(value: Any) -> Any:
    """Numbers as they are written; what YAML makes of braces without quotes is told by what was meant."""
    if isinstance(value, dict) and len(value) == 1 and list(value.values()) == [None]:
        raise ValueError(f'write "{{{next(iter(value))}}}", with the quotes')
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_as_text)]
Word = Annotated[Text, Field(min_length=1)]
Words = Annotated[tuple[Word, ...], Field(min_length=1)]


def _kind_of_word(written: Any) -> str:
    return "kind[words]" if isinstance(written, list | tuple) else "kind[word]"


WordOrWords = Annotated[
    Annotated[Word, Tag("kind[word]")] | Annotated[Words, Tag("kind[words]")], Discriminator(_kind_of_word)
]


def _with_one_group(written: str) -> str:
    try:
        groups = re.compile(written).groups
    except re.error as error:
        raise ValueError(f"is no regular expression ({error}); correct it") from None
    if groups != 1:
        raise ValueError(f"has {groups} groups; put brackets around the number alone, and (?:...) around the rest")
    return written


Pattern = Annotated[str, AfterValidator(_with_one_group)]


class ReportPatterns(BaseModel):
    """Regular expressions, each with one group around a number, for the lines that a program prints anyway.

    A line that has a `loss` is a point of the curve. `step` and `images` are those of the whole run; both are looked
    for on each line, and hold for the losses that follow.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    loss: Pattern
    step: Pattern | None = None
    images: Pattern | None = None


class CommandConfig(BaseModel):
    """A program that every worker of a trial runs, with one rank each.

    `{name}` in `command` and `environment` stands for the value of a swept field, of `workers`, or of one in `values`,
    where what stays the same has its place; `{{name}}` is `{name}` itself. A word or a variable that holds a name
    without a value, None, is left out; words in a list of their own are left out together. It runs in `folder`, which
    is the one that the sweep was submitted from where the spec names none. With `report` its losses are read from what
    rank 0 prints.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Annotated[tuple[WordOrWords, ...], Field(min_length=1)]
    environment: dict[str, Text] = {}
    values: dict[str, Scalar] = {}
    folder: str = ""
    report: ReportPatterns | None = None

    def names(self) -> list[str]:
        """What stands in braces, each once, in order."""
        words = [word for group in self.groups() for word in group]
        return list(dict.fromkeys(name for text in (*words, *self.environment.values()) for name in _names_in(text)))

    def groups(self) -> list[Sequence[str]]:
        """The words of the command, those that are left out together in one piece."""
        return [(one,) if isinstance(one, str) else one for one in self.command]

    def with_values(self, values: Mapping[str, Any]) -> CommandConfig:
        """The same with these values, too."""
        return self.model_copy(update={"values": {**self.values, **values}})

    def words(self, workers: int) -> list[str]:
        """The program and its arguments, filled in."""
        present = (group for group in self.groups() if not any(map(self._is_absent, group)))
        return [self._filled(word, workers) for group in present for word in group]

    def variables(self, workers: int) -> dict[str, str]:
        """The environment that it gets besides, filled in."""
        present = {name: text for name, text in self.environment.items() if not self._is_absent(text)}
        return {name: self._filled(text, workers) for name, text in present.items()}

    def _is_absent(self, text: str) -> bool:
        """Whether a name in a text has no value."""
        return any(name in self.values and self.values[name] is None for name in _names_in(text))

    def _filled(self, text: str, workers: int) -> str:
        values = {**self.values, WORKERS: workers}
        return _PLACE.sub(lambda found: f"{{{found[1]}}}" if found[1] else str(values[found[2]]), text)


def _names_in(text: str) -> list[str]:
    return [name for _, name in _PLACE.findall(text) if name]


def command_faults(
    config: CommandConfig, places: Mapping[str, str], absent: Mapping[str, Sequence[Scalar]], repeats: int
) -> list[str]:
    """What does not fit between a command's words and the space, one line each.

    `places` says where in the space each swept name stands, `absent` has the names that some trials have no value of,
    and all values of each.
    """
    used, swept = config.names(), [name for name in places if name != WORKERS]
    unused = [f"trial.values.{name}" for name in config.values if name not in used or name == WORKERS]
    problems = [
        f"space.{places[name]}: the command does not use it; write {{{name}}} where it goes in trial.command, or "
        "remove it"
        for name in swept
        if name not in used and name.isidentifier()
    ]
    problems += [f"{name}: the command does not use it; remove it" for name in unused]
    seeds = {SEED} if repeats > 1 else set()
    if seeds - set(used):
        problems.append(f"repeats: {repeats} needs seeds; write {{{SEED}}} where one goes in trial.command")
    for name in used:
        if name not in {WORKERS, *swept, *config.values, *seeds}:
            problems.append(
                f"trial.command: {{{name}}} stands for nothing; add space.{name} or trial.values.{name}, "
                f"or write {{{{{name}}}}} for the braces themselves"
            )
    problems += [
        f"trial.values.{name}: has no value; give one, or remove it and its word"
        for name, value in config.values.items()
        if value is None
    ]
    return problems + _faults_of_absence(config, absent)


def _faults_of_absence(config: CommandConfig, absent: Mapping[str, Sequence[Scalar]]) -> list[str]:
    """Words that would stay without the value that belongs to them."""
    groups = config.groups()
    problems = [
        f"trial.command: the program, {groups[0][0]!r}, needs a value of {{{name}}} in each trial; give it one"
        for name in _names_in(groups[0][0])
        if name in absent
    ]
    for before, group in itertools.pairwise(config.command):
        name = _PLACE.fullmatch(group) if isinstance(group, str) else None
        if name is None or name[2] not in absent or not _is_option(before):
            continue
        if not all(map(_is_word_of_its_own, absent[name[2]])):
            problems.append(
                f"trial.command: {before!r} would stay where {group} is left out; "
                f'write the two as a list in the list, [{before}, "{group}"], or as one word, "{before}={group}"'
            )
    return problems


def _is_word_of_its_own(value: Scalar) -> bool:
    """Whether a value needs no word before it, as `--fast` does not."""
    return value is None or (isinstance(value, str) and value[:1] in ("", "-"))


def _is_option(word: Any) -> bool:
    return isinstance(word, str) and word.startswith("-") and not _names_in(word)
