"""A user's own program as a trial: its words, and where the swept values go in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sweeper.spec.axes import SEED, WORKERS, Scalar

_PLACE = re.compile(r"\{\{(\w+)\}\}|\{([A-Za-z_]\w*)\}")


def _as_text(value: Any) -> Any:
    """Numbers as they are written; what YAML makes of braces without quotes is told by what was meant."""
    if isinstance(value, dict) and len(value) == 1 and list(value.values()) == [None]:
        raise ValueError(f'write "{{{next(iter(value))}}}", with the quotes')
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, BeforeValidator(_as_text)]


class CommandConfig(BaseModel):
    """A program that every worker of a trial runs, with one rank each.

    `{name}` in `command` and `environment` stands for the value of a swept field, of `workers`, or of one in `values`,
    where what stays the same has its place; `{{name}}` is `{name}` itself. It runs in `folder`, which is the one that
    the sweep was submitted from where the spec names none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Annotated[tuple[Annotated[Text, Field(min_length=1)], ...], Field(min_length=1)]
    environment: dict[str, Text] = {}
    values: dict[str, Scalar] = {}
    folder: str = ""

    def names(self) -> list[str]:
        """What stands in braces, each once, in order."""
        texts: Iterable[str] = (*self.command, *self.environment.values())
        return list(dict.fromkeys(name for text in texts for _, name in _PLACE.findall(text) if name))

    def with_values(self, values: Mapping[str, Any]) -> CommandConfig:
        """The same with these values, too."""
        return self.model_copy(update={"values": {**self.values, **values}})

    def words(self, workers: int) -> list[str]:
        """The program and its arguments, filled in."""
        return [self._filled(word, workers) for word in self.command]

    def variables(self, workers: int) -> dict[str, str]:
        """The environment that it gets besides, filled in."""
        return {name: self._filled(text, workers) for name, text in self.environment.items()}

    def _filled(self, text: str, workers: int) -> str:
        values = {**self.values, WORKERS: workers}
        return _PLACE.sub(lambda found: f"{{{found[1]}}}" if found[1] else str(values[found[2]]), text)


def command_faults(config: CommandConfig, swept: Iterable[str], repeats: int) -> list[str]:
    """What does not fit between a command's words and the space, one line each."""
    used, swept = config.names(), [name for name in swept if name != WORKERS]
    unused = [f"trial.values.{name}" for name in config.values if name not in used or name == WORKERS]
    problems = [
        f"space.{name}: the command does not use it; write {{{name}}} where it goes in trial.command, or remove it"
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
    return problems
