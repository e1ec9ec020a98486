"""Rows of a benchmark: measured, shown, written."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sweeper.output_file import OutputPlace, write_output


def hardware(gpus: int = 0) -> str:
    """Processor and the cores that this process may use; before them so many GPUs, if they are all alike."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    cores = f"{model}, {len(os.sched_getaffinity(0))} cores"
    return f"{gpus} {_gpu_name()}, {cores}" if gpus else cores


def _gpu_name() -> str:
    import torch

    return torch.cuda.get_device_name()


def versions(*packages: str) -> dict[str, str]:
    """Installed versions of packages, and Python's."""
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}


def installed(rival: str, *modules: str) -> bool:
    """Whether what a rival needs is there; where not, says that it is left out."""
    missing = [module for module in modules if not _is_there(module)]
    if missing:
        sys.stderr.write(f"{rival} is left out: {', '.join(missing)} not installed\n")
    return not missing


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor is the package that it would be in
        return False


_NAME_WIDTH = 86


@dataclass(frozen=True)
class Row:
    """A figure and its baseline: medians of `n` runs each; `spread` is the figure's (largest - smallest) / median."""

    name: str
    value: float
    unit: str
    baseline: str
    baseline_value: float | None
    ratio: float | None
    n: int
    spread: float
    versions: dict[str, str]
    hardware: str = field(default_factory=hardware)


class RivalError(Exception):
    """A rival has died, and this run of it has no figure."""


def compare(
    name: str,
    unit: str,
    ours: Callable[[], float],
    baseline: str,
    theirs: Callable[[], float],
    n: int,
    used: dict[str, str],
) -> Row:
    """Both figures, taken in turn `n` times, so that what changes on the machine meets both.

    A rival that dies each time costs the row its baseline, and no more.
    """
    own: list[float] = []
    other: list[float] = []
    for _ in range(n):
        own.append(ours())
        try:
            other.append(theirs())
        except RivalError as error:
            sys.stderr.write(f"{name}: {baseline}: {error}\n")
    value, baseline_value = statistics.median(own), statistics.median(other) if other else None
    ratio = None if baseline_value is None else value / baseline_value
    return Row(name, value, unit, baseline, baseline_value, ratio, n, spread(own), used)


def alone(name: str, unit: str, ours: Callable[[], float], n: int, used: dict[str, str]) -> Row:
    """A figure that has no baseline."""
    own = [ours() for _ in range(n)]
    return Row(name, statistics.median(own), unit, "", None, None, n, spread(own), used)


def arguments(description: str) -> argparse.Namespace:
    """`--quick` and `--json FILE`."""
    parser = argparse.ArgumentParser(description=description)
    add_arguments(parser)
    return parser.parse_args()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two that every benchmark takes."""
    parser.add_argument("--quick", action="store_true", help="end within a minute on 2 cores")
    parser.add_argument("--json", type=Path, help="write the rows to this file")


def report(rows: Iterable[Row], file: Path | None) -> None:
    """Each row on the screen and in the file as soon as it is measured: what ends a benchmark early costs the rest."""
    columns = (f"{'name':<{_NAME_WIDTH}}", f"{'value':>10}", f"{'unit':<14}", f"{'baseline':<24}", f"{'its value':>10}")
    sys.stdout.write("  ".join((*columns, f"{'ratio':>7}", f"{'n':>4}", f"{'spread':>7}")) + "\n")
    written: list[dict[str, Any]] = []
    place = OutputPlace.of(file) if file else None
    for row in rows:
        other = "" if row.baseline_value is None else _shown(row.baseline_value)
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        cells = (f"{row.name:<{_NAME_WIDTH}}", f"{_shown(row.value):>10}", f"{row.unit:<14}", f"{row.baseline:<24}")
        sys.stdout.write(
            "  ".join((*cells, f"{other:>10}", f"{ratio:>7}", f"{row.n:>4}", f"{row.spread:>7.0%}")) + "\n"
        )
        sys.stdout.flush()
        written.append(asdict(row))
        if place and not place.is_stream:
            _write(written, place)
    if place and place.is_stream:
        _write(written, place)


def _write(rows: Sequence[dict[str, Any]], place: OutputPlace) -> None:
    text = json.dumps(rows, indent=2) + "\n"
    write_output(place, lambda path: path.write_text(text))


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def spread(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / statistics.median(values)
