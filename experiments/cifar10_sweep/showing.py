"""Tables and figures of the study, from its recorded sweeps."""

from __future__ import annotations

import click

from experiments.cifar10_sweep import tables
from experiments.cifar10_sweep.published import PLACE, published_grids
from experiments.cifar10_sweep.recorded import Sweeps, read_sweeps
from experiments.study import Study


def show(study: Study) -> None:
    """Make all of them; those that need the published areas stay as they are on a machine without these."""
    sweeps, published = read_sweeps(study), published_grids()
    for name, made in {
        "taken": tables.taken(sweeps),
        "winners": tables.winners(sweeps),
        "regret": tables.regret(sweeps),
        "thresholds": tables.thresholds(sweeps),
        "hardware": tables.ran_on(sweeps, _devices(study, sweeps)),
    }.items():
        study.table(name, *made)
    if not published:
        click.echo(f"$SWEEPER_DATA/{PLACE} is not here: what compares with the paper's areas stays as it is")
    else:
        for name, made in {
            "agreement": tables.agreements(sweeps, published),
            "outcomes": tables.outcomes(sweeps, published),
            "judgements": tables.judgements(sweeps, published),
            "cells": tables.cells(sweeps, published),
        }.items():
            study.table(name, *made)
    draw(study, sweeps, published)


def _devices(study: Study, sweeps: Sweeps) -> dict[str, str]:
    """The name of the device that each sweep's first trial ran on."""
    with study.reading() as store:
        first = {name: store.attempts.of(sweep.spans[0].trial_id)[0] for name, sweep in sweeps.items() if sweep.spans}
    return {name: str(one.effective.get("device_name", "–")) for name, one in first.items()}


def draw(study, sweeps, published): pass
