"""Reading a spec from a file: YAML 1.2 or JSON, with overrides from the command line."""

from __future__ import annotations

import copy
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from engine.config import BATCH_SIZES, BUDGETS
from sweeper.errors import SpecError
from sweeper.spec import SweepSpec, parse_spec, prune_by_name
from sweeper.spec.command import CommandConfig
from sweeper.spec.search import search_by_name


def load_spec(path: Path, overrides: Sequence[str] = ()) -> SweepSpec:
    """The spec in `path`, with `overrides` such as "trial.images=10240" applied.

    Raises:
        SpecError: a file that cannot be read or is no YAML or JSON, and every fault of the spec.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecError([f"{path}: cannot be read ({error.strerror}); give the path of a spec file"]) from None
    except UnicodeDecodeError:
        raise SpecError([f"{path}: is no UTF-8 text; save it as UTF-8"]) from None
    return spec_with(_parse_json(text, path) if path.suffix == ".json" else parse_yaml(text, str(path)), overrides)


def spec_with(written: Any, overrides: Sequence[str]) -> SweepSpec:
    """A spec that was read, or that a store has, with `overrides` applied; raises SpecError for its faults."""
    written = copy.deepcopy(written)
    for override in overrides:
        _apply(written, override)
    return _in_folder(parse_spec(written))


def _in_folder(spec: SweepSpec) -> SweepSpec:
    """A command's folder in full: where it is run later does not matter."""
    if not isinstance(spec.trial, CommandConfig):
        return spec
    folder = os.path.abspath(spec.trial.folder)
    if not os.path.isdir(folder):
        raise SpecError(
            [f"trial.folder: {spec.trial.folder!r} is no folder here; give the one that the command runs in"]
        )
    trial = spec.trial.model_copy(update={"folder": folder})
    return spec.model_copy(update={"trial": trial})


def parse_yaml(text: str, source: str) -> Any:
    """YAML 1.2 as plain Python values; numbers as that version has them, so `1e-3` is a float.

    Raises:
        SpecError: the place of the first fault; a key given twice is one.
    """
    try:
        return YAML(typ="safe", pure=True).load(text)
    except DuplicateKeyError as error:
        problem = str(error.problem).partition(" with value ")[0]
        raise SpecError([f"{source}{_line(error)}: {problem}; keep one of them"]) from None
    except MarkedYAMLError as error:
        raise SpecError([f"{source}{_line(error)}: {_one_line(error.problem)}; correct the YAML there"]) from None
    except (YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        # The constructors of numbers, dates and tags raise whatever Python does.
        raise SpecError([f"{source}: cannot be read as YAML ({_one_line(error)}); correct the YAML"]) from None


def spec_text(written: Mapping[str, Any], *, only_ascii: bool = False) -> str:
    """A spec as YAML, as `load_spec` reads it; lists and settings of single values stand on a line each."""
    yaml = YAML(typ="safe", pure=True)
    yaml.allow_unicode = not only_ascii
    yaml.default_flow_style, yaml.sort_base_mapping_type_on_output = None, False  # type: ignore[assignment]
    yaml.width = 120
    text = io.StringIO()
    yaml.dump(written, text)
    return text.getvalue()


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
    except (ValueError, RecursionError) as error:
        raise SpecError([f"{path}: cannot be read as JSON ({error}); correct the JSON"]) from None


def _line(error: MarkedYAMLError) -> str:
    return f" line {error.problem_mark.line + 1}" if error.problem_mark else ""


def _one_line(message: object) -> str:
    return " ".join(str(message).split())


def split_assignment(text: str, example: str) -> tuple[str, Any]:
    """Name and value of `name=value`, the value read as YAML.

    Raises:
        SpecError: no equals sign, or a name that is empty or has an empty part.
    """
    name, equals, value = text.partition("=")
    if not equals or not all(part.strip() for part in name.split(".")):
        raise SpecError([f"--set: {text!r} is no assignment; write it like {example}"])
    return name.strip(), parse_yaml(value, f"--set {name.strip()}")


def _apply(written: Any, override: str) -> None:
    name, value = split_assignment(override, "trial.images=10240")
    *parents, leaf = name.split(".")
    # Keys below `space` are dotted paths themselves, as in space.exchange.method.
    if parents[:1] == ["space"]:
        parents, leaf = ["space"], name.removeprefix("space.")
    place = written
    for short, longer in (("prune", prune_by_name), ("search", search_by_name)):
        if parents[:1] == [short] and isinstance(written, dict) and short in written:
            written[short] = longer(written[short])
    for parent in parents:
        if not isinstance(place, dict):
            break
        place = place.setdefault(parent, {})
    # What is set here takes the place of its alternatives.
    if name == "search.trials" and isinstance(written, dict):
        written.pop("trials", None)
    if name == "trials" and isinstance(written, dict) and isinstance(written.get("search"), dict):
        written["search"].pop("trials", None)
    if parents == ["trial"] and isinstance(place, dict) and value is not None:
        for alternatives in (BUDGETS, BATCH_SIZES):
            if leaf in alternatives:
                place = written["trial"] = {name: own for name, own in place.items() if name not in alternatives}
    if not isinstance(place, dict):
        where = f"no mapping {'.'.join(parents)}" if parents else "no mapping in the file"
        raise SpecError([f"--set {name}: there is {where} to set it in; correct it"])
    place[leaf] = value
