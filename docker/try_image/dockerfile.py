"""What a Dockerfile says: its stages, and the instructions of each in order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sweeper.errors import UsageError

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")


@dataclass(frozen=True)
class Instruction:
    """An instruction: its word in capitals, and what stands behind it, with continued lines joined."""

    word: str
    rest: str


@dataclass(frozen=True)
class Stage:
    """A stage; `base` is an image or an earlier stage. `defaults` are the arguments that stand before all stages."""

    name: str
    base: str
    instructions: tuple[Instruction, ...]
    defaults: Mapping[str, str]


def instructions(text: str) -> list[Instruction]:
    """All instructions of a Dockerfile, without comments."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    lines = re.sub(r"\\[ \t]*\n", "", text).splitlines()
    parts = [line.strip().partition(" ") for line in lines if line.strip()]
    return [Instruction(word.upper(), rest.strip()) for word, _, rest in parts]


def stages(text: str, given: Mapping[str, str]) -> list[Stage]:
    """The stages in order; `given` are the build's arguments, which win over defaults."""
    found: list[Stage] = []
    arguments: dict[str, str] = {}
    for instruction in instructions(text):
        if instruction.word == "FROM":
            base, _, name = substituted(instruction.rest, arguments).partition(" AS ")
            found.append(Stage(name or str(len(found)), base, (), dict(arguments)))
        elif found:
            last = found[-1]
            found[-1] = Stage(last.name, last.base, (*last.instructions, instruction), last.defaults)
        else:
            name, _, default = instruction.rest.partition("=")
            arguments[name] = given.get(name, default)
    return found


def needed(all_stages: list[Stage], target: str) -> list[Stage]:
    """The stages that `target` stands on or copies from, and itself, in the file's order."""
    by_name = {stage.name: stage for stage in all_stages}
    if target not in by_name:
        raise UsageError(f"the Dockerfile has no stage {target}", f"name one of {', '.join(by_name)}")
    wanted, open_names = set(), [target]
    while open_names:
        name = open_names.pop()
        if name in by_name and name not in wanted:
            wanted.add(name)
            open_names += [by_name[name].base, *_copied_from(by_name[name])]
    return [stage for stage in all_stages if stage.name in wanted]


def _copied_from(stage: Stage) -> list[str]:
    return [
        name
        for instruction in stage.instructions
        if instruction.word == "COPY"
        for name in re.findall(r"--from=(\S+)", instruction.rest)
    ]


def substituted(text: str, values: Mapping[str, str]) -> str:
    """The text with `$NAME`, `${NAME}` and `${NAME:-default}` filled in; unknown names become empty, as in Docker."""
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[3], "") or found[2] or "", text)
