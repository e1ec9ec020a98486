"""Tables and figures of the study, from its recorded sweeps."""

from __future__ import annotations

from collections.abc import Sequence

import click

from experiments.cifar10_sweep import tables
from experiments.cifar10_sweep.published import PLACE, PublishedGrid, published_grids
from experiments.cifar10_sweep.recorded import Sweeps, are_of_the_paper, read_sweeps, references
from experiments.study import Study
from sweeper.store.records import AttemptRecord


def show(study: Study) -> None:
    """Make all of them; those that need the published areas stay as they are on a machine without these.

    The small version trains another network on other data, so nothing of it is compared with the paper's areas.
    """
    sweeps, published = read_sweeps(study), published_grids()
    for name, made in {
        "taken": tables.taken(sweeps),
        "winners": tables.winners(sweeps),
        "regret": tables.regret(sweeps),
        "one-seed": tables.one_seed(sweeps),
        "thresholds": tables.thresholds(sweeps),
        "hardware": tables.ran_on(sweeps, _devices(study, sweeps)),
    }.items():
        study.table(name, *made)
    if not published:
        click.echo(f"$SWEEPER_DATA/{PLACE} not found; tables and figures that compare with the paper stay unchanged.")
    elif not are_of_the_paper(sweeps):
        published = {}
    else:
        for name, made in {
            "agreement": tables.agreements(sweeps, published),
            "clocks": tables.clocks(sweeps, published),
            "outcomes": tables.outcomes(sweeps, published),
            "judgements": tables.judgements(sweeps, published),
            "cells": tables.cells(sweeps, published),
        }.items():
            study.table(name, *made)
    _draw(study, sweeps, published)


def _devices(study: Study, sweeps: Sweeps) -> dict[str, str]:
    """The kind of device that each sweep ran on; a record does not tell how many there were."""
    with study.reading() as store:
        return {name: _device([store.attempts.of(one.id) for one in sweep.trials]) for name, sweep in sweeps.items()}


def _device(attempts: Sequence[Sequence[AttemptRecord]]) -> str:
    known = [one.effective for of_trial in attempts for one in of_trial if "device_name" in one.effective]
    names = sorted({str(one["device_name"]) for one in known})
    return ", ".join(names) or "–"


def _draw(study: Study, sweeps: Sweeps, published: dict[int, PublishedGrid]) -> None:
    from dashboards.plot import draw_figure
    from experiments.cifar10_sweep.drawing.by_threshold import draw_by_threshold
    from experiments.cifar10_sweep.drawing.heatmaps import draw_beside
    from experiments.cifar10_sweep.drawing.taken import draw_taken

    known = references(sweeps)
    for one in known if published else ():
        study.figure(f"beside-paper-{one.file_name}", draw_beside(one, published[one.workers]))
    if known and (threshold := known[0].grid().threshold) is not None:
        study.figure("threshold", draw_by_threshold(known, threshold))
    if (taken := draw_taken(sweeps)) is not None:
        study.figure("taken", taken)
    if grid := sweeps.get("grid-1w"):
        with study.reading() as store:
            study.figure("histogram-1w", draw_figure(store, grid.record.id, "histogram"))
