"""Rows of a benchmark: measured, shown, written."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table


def hardware() -> str:
    """Processor and the cores that this process may use."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


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


_WIDTH = 140


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


def compare(
    name: str,
    unit: str,
    ours: Callable[[], float],
    baseline: str,
    theirs: Callable[[], float],
    n: int,
    used: dict[str, str],
) -> Row:
    """Both figures, taken in turn `n` times, so that what changes on the machine meets both."""
    pairs = [(ours(), theirs()) for _ in range(n)]
    own, other = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    value, baseline_value = statistics.median(own), statistics.median(other)
    return Row(name, value, unit, baseline, baseline_value, value / baseline_value, n, spread(own), used)


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


def report(rows: Sequence[Row], file: Path | None) -> None:
    """A table on the screen, and the rows in the file."""
    table = Table(box=None, pad_edge=False)
    for column in ("name", "value", "unit", "baseline", "its value", "ratio", "n", "spread"):
        table.add_column(column, justify="left" if column in ("name", "unit", "baseline") else "right")
    for row in rows:
        other = "" if row.baseline_value is None else _shown(row.baseline_value)
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        table.add_row(
            row.name, _shown(row.value), row.unit, row.baseline, other, ratio, str(row.n), f"{row.spread:.0%}"
        )
    Console(width=_WIDTH).print(table)
    if file:
        file.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def spread(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / statistics.median(values)
