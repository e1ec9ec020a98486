"""Options that several commands share, also in other packages, and how they print JSON."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from sweeper.answers.forecast import MOST_WORKERS
from sweeper.answers.numbers import finite
from sweeper.gangs.seats import Growth
from sweeper.spec import OVER
from sweeper.store.store import DEFAULT_URL
from sweeper.streams import json_text

Function = TypeVar("Function", bound=Callable[..., Any])


def store_option(function: Function) -> Function:
    """`--store URL`, else SWEEPER_STORE, else a SQLite file in the working folder."""
    return click.option(
        "--store",
        "store_url",
        metavar="URL",
        envvar="SWEEPER_STORE",
        default=DEFAULT_URL,
        show_default=True,
        show_envvar=True,
        help="Where sweeps are kept, as a SQLAlchemy URL.",
    )(function)


def json_option(function: Function) -> Function:
    """`--json`: the answer for programs."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(function)


def overrides_option(function: Function) -> Function:
    """`--set FIELD=VALUE`: fields of the spec that are other than in its file."""
    return click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Override a field of the spec, for example trial.images=10240; repeatable.",
    )(function)


def by_option(function: Function) -> Function:
    """`--by NAME`: what makes the groups; `names_in` reads it."""
    return click.option(
        "--by",
        multiple=True,
        metavar="NAME",
        help="Parameter whose values make the groups; repeatable or separated by commas; default: the sweep's own.",
    )(function)


def names_in(texts: Sequence[str]) -> tuple[str, ...]:
    """The names that `--by` has, one after the other."""
    return tuple(name.strip() for text in texts for name in text.split(","))


def over_option(function: Function) -> Function:
    """`--over AXIS`: what the area is taken over."""
    return axis_option(OVER)(function)


def axis_option(axes: Sequence[str]) -> Callable[[Function], Function]:
    """`--over AXIS`, one of `axes`; those beside `OVER` are axes that a figure may run along."""
    further = [axis for axis in axes if axis not in OVER]
    more = f" Along {' or '.join(further)}, areas are over images." if further else ""
    return click.option("--over", type=click.Choice(axes), help=f"Axis of the area; default: the sweep's own.{more}")


def oversubscribed_option(function: Function) -> Function:
    """`--oversubscribed`: rank trials over seconds whose ranks shared cores or GPUs."""
    return click.option(
        "--oversubscribed",
        is_flag=True,
        help="Also rank trials over seconds whose ranks shared cores or GPUs.",
    )(function)


def rate_option(function: Function) -> Function:
    """`--dollars-per-worker-hour X`, or `--dollars-per-hour X`: another price than the sweep's."""
    return click.option(
        "--dollars-per-worker-hour",
        "--dollars-per-hour",
        "dollars_per_worker_hour",
        type=click.FloatRange(min=0),
        callback=_finite_price,
        metavar="DOLLARS",
        help="Price of a worker; default: the sweep's own, resources.dollars_per_worker_hour.",
    )(function)


def threshold_option(function: Function) -> Function:
    """`--threshold X`: another threshold than the sweep's."""
    return click.option(
        "--threshold",
        type=float,
        callback=_finite_or_none,
        metavar="LOSS",
        help="Qualifying minimum loss; default: the sweep's own.",
    )(function)


def worker_counts(_ctx: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> list[int]:
    """The worker counts of an option, for example of `--workers 16,32`."""
    counts = []
    for word in (word.strip() for text in values for word in text.split(",")):
        count = int(word) if word.isascii() and word.isdecimal() and len(word) <= len(str(MOST_WORKERS)) else 0
        if not 1 <= count <= MOST_WORKERS:
            raise click.BadParameter(
                f"{word!r} is not a worker count; give whole numbers from 1 to {MOST_WORKERS}, for example 16,32"
            )
        counts.append(count)
    return counts


def autoscale_option(function: Function) -> Function:
    """`--autoscale HOSTSxCPUS[xGPUS]`: how far Ray's autoscaler may take the cluster."""
    return click.option(
        "--autoscale",
        callback=_growth,
        metavar="HOSTSxCPUS[xGPUS]",
        help="The largest size that Ray's autoscaler may give the cluster, for example 8x16. Trials wait for hosts "
        "that have not started yet.",
    )(function)


def _growth(_ctx: click.Context, _option: click.Parameter, value: str | None) -> Growth | None:
    try:
        return Growth.parse(value) if value is not None else None
    except (ValueError, TypeError):
        raise click.BadParameter(f"{value!r} is not a cluster size; write 8x16, or 8x16x4 with GPUs") from None


def _finite_or_none(_ctx: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not finite; give a loss, such as 1.8")
    return value


def _finite_price(_ctx: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not finite; give a price, such as 2.5")
    return value


def print_json(value: Any, indent: int | None = 2, *, err: bool = False) -> None:
    """One JSON document on standard output, or standard error, on one line without `indent`.

    Numbers that JSON does not know are null. What the stream cannot show is escaped.
    """
    click.echo(json_text(finite(value), sys.stderr if err else sys.stdout, indent), err=err)
