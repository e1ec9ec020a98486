"""Reading a spec from a file: YAML 1.2 or JSON, with overrides from the command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from sweeper.errors import SpecError
from sweeper.spec import SweepSpec, parse_spec


def load_spec(path: Path, overrides: Sequence[str] = ()) -> SweepSpec:
    """The spec in `path`, with `overrides` such as "trial.images=10240" applied.

    Raises:
        SpecError: a file that cannot be read or is no YAML or JSON, and every fault of the spec.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError([f"{path}: cannot be read ({error.strerror}); give the path of a spec file"]) from None
    except UnicodeDecodeError:
        raise SpecError([f"{path}: is no UTF-8 text; save it as UTF-8"]) from None
    written = _parse_json(text, path) if path.suffix == ".json" else parse_yaml(text, str(path))
    for override in overrides:
        _apply(written, override)
    return parse_spec(written)


def parse_yaml(text: str, source: str) -> Any:
    """YAML 1.2 as plain Python values; numbers as that version has them, so `1e-3` is a float.

    Raises:
        SpecError: the place of the first fault; a key given twice is one.
    """
    try:
        return YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        problem = " ".join(str(error.problem).split())
        raise SpecError([f"{source}{line}: {problem}; correct the YAML there"]) from None
    except YAMLError as error:
        raise SpecError([f"{source}: {error}; correct the YAML"]) from None


def _parse_json(text: str, path: Path) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        for name in dict.fromkeys(name for name, _ in pairs):
            if [key for key, _ in pairs].count(name) > 1:
                raise SpecError([f"{path}: found key {name!r} more than once; keep one of them"])
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise SpecError([f"{path} line {error.lineno}: {error.msg}; correct the JSON there"]) from None


def split_assignment(text: str, example: str) -> tuple[str, Any]:
    """Name and value of `name=value`, the value read as YAML.

    Raises:
        SpecError: no equals sign, or an empty name.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise SpecError([f"--set: {text!r} is no assignment; write it like {example}"])
    return name.strip(), parse_yaml(value, f"--set {name.strip()}")


def _apply(written: Any, override: str) -> None:
    name, value = split_assignment(override, "trial.images=10240")
    *parents, leaf = name.split(".")
    # Keys below `space` are dotted paths themselves, as in space.exchange.method.
    if parents[:1] == ["space"]:
        parents, leaf = ["space"], name.removeprefix("space.")
    place = written
    for parent in parents:
        if not isinstance(place, dict):
            break
        place = place.setdefault(parent, {})
    if not isinstance(place, dict):
        raise SpecError([f"--set {name}: there is no mapping {'.'.join(parents)} to set it in; correct the name"])
    place[leaf] = value
