"""The tables of the README: each a header and its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import TypeAlias

from dashboards.figures.tables import Outcome
from dashboards.figures.words.numbers import measure
from experiments.cifar10_sweep.agreement import (
    agreement,
    agreement_by_batch,
    agreement_on,
    fates,
    judged_alike,
    published_clock,
    spearman,
    winner_on,
)
from experiments.cifar10_sweep.one_seed import judged
from experiments.cifar10_sweep.published import WINNERS, PublishedGrid
from experiments.cifar10_sweep.recorded import (
    Grid,
    RecordedSweep,
    Reference,
    Sweeps,
    count_of,
    on_all_axes,
    references,
    words,
)
from experiments.cifar10_sweep.winners import Regret, mean_winner, references_of, regrets
from experiments.intervals import with_interval
from sweeper.plan.trial import TrialState

Table: TypeAlias = tuple[list[str], list[list[object]]]
THRESHOLDS = (2.2, 2.0, 1.8, 1.6, 1.5, 1.4, 1.3, 1.2, 1.1, 1.0, 0.9)
_FATES = (Outcome.QUALIFIED, Outcome.ABOVE_THRESHOLD, Outcome.AT_CHANCE, Outcome.DIVERGED)
_LIMITS = (1.8, 1.5, 1.3)  # the paper's threshold, and those by which ours judge most cells as the paper did


def taken(sweeps: Sweeps) -> Table:
    """What each sweep took."""
    header = ["sweep", "trials", "completed", "of those derived", "at chance", "diverged", "pruned"]
    header += ["machine, s", "training, s", "of the grid's training", "images trained, of the full grid"]
    return header, [_taken(name, sweeps) for name in sweeps]


def _taken(name: str, sweeps: Sweeps) -> list[object]:
    sweep = sweeps[name]
    states = (TrialState.COMPLETED, TrialState.DIVERGED, TrialState.PRUNED)
    completed, *ended = [count_of(sweep.trials, state) for state in states]
    derived = sum(one.derived_from is not None for one in sweep.trials)
    chance = sum(one.at_chance for one in sweep.trials)
    training = sweep.training_s(sweep.trials)
    whole = grid_training_s(name, sweeps)
    share = f"{100 * training / whole:.0f} %" if whole else "–"
    counts = [len(sweep.trials), completed, derived, chance, *ended]
    images = f"{100 * sweep.trained_share:.0f} %"
    return [f"`{name}`", *counts, f"{sweep.machine_s:.1f}", f"{training:.1f}", share, images]


def grid_training_s(name: str, sweeps: Sweeps) -> float | None:
    """Training seconds of the reference grids of a pruned sweep, of the same seeds; None where one is not recorded."""
    if not name.startswith(("area-", "forecast-", "reuse-")):
        return None
    known, seeds = references_of(name, sweeps), sweeps[name].seeds
    if len(known) < len(sweeps[name].counts) or any(seed not in one.sources for one in known for seed in seeds):
        return None
    return sum(one.training_s(seed) for one in known for seed in seeds)


def winners(sweeps: Sweeps) -> Table:
    """The winner of each worker count, with seeds, beside the paper's."""
    header = ["workers", "area over", "winner, seed 0", "winner, all seeds", "seeds", "mean area, 95 % interval"]
    header += ["runner-up", "told apart", "paper", "the paper's setting here"]
    return header, [_winner(one) for one in on_all_axes(sweeps)]


def _winner(reference: Reference) -> list[object]:
    grid, mean = reference.grid(), mean_winner(reference)
    first = [reference.name, grid.over, words(grid.winner())]
    if mean is None:
        middle: list[object] = ["–", len(reference.sources), "–", "–", "–"]
    else:
        apart = {True: "yes", False: "no", None: "–"}[mean.separated]
        middle = [
            words(mean.setting),
            mean.seeds,
            with_interval(mean.area, mean.interval, measure),
            words(mean.runner_up),
            apart,
        ]
    return [*first, *middle, words(WINNERS[reference.workers]), _paper_setting_here(grid)]


def _paper_setting_here(grid: Grid) -> str:
    """What came of the paper's winner in our grid: its place, and how much larger its area is."""
    setting, ranking = WINNERS[grid.workers], grid.ranking()
    if setting not in ranking:
        return str(grid.outcome(setting))
    area, best = grid.area(setting), grid.area(ranking[0])
    assert area is not None
    assert best is not None
    return f"place {ranking.index(setting) + 1} of {len(ranking)}, area {100 * (area / best - 1):+.1f} %"


def regret(sweeps: Sweeps) -> Table:
    """What pruning chose, and what that costs, by seed; then the mean of each way."""
    found = regrets(sweeps)
    header = ["sweep", "workers", "seed", "area over", "grid's winner", "chosen", "regret"]
    rows: list[list[object]] = [
        [f"`{one.sweep}`", one.workers, one.seed, one.over, words(one.best), words(one.chosen), _percent(one.percent)]
        for one in found
    ]
    return header, rows + _mean_regrets(found)


def _mean_regrets(found: Sequence[Regret]) -> list[list[object]]:
    ways: dict[str, list[Regret]] = {}
    for one in found:
        ways.setdefault(one.sweep.partition("-seed")[0], []).append(one)
    rows: list[list[object]] = []
    for way, ones in ways.items():
        percents = [one.percent for one in ones if one.percent is not None]
        if len(ones) > 1 and percents:
            lost = len(ones) - len(percents)
            more = f"; {lost} without one" if lost else ""
            mean = f"mean of {len(percents)}: {_percent(fmean(percents))}{more}"
            rows.append([f"`{way}`", "all", "all", ones[0].over, "", "", mean])
    return rows


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} %"


def agreements(sweeps: Sweeps, published: dict[int, PublishedGrid]) -> Table:
    """The order of cells beside the paper's, by worker count, with the range over seeds."""
    header = ["workers", "our areas over", "seeds", "common cells (batch sizes)"]
    header += ["Spearman", "the same over steps", "within batch sizes"]
    rows: list[list[object]] = []
    for reference in on_all_axes(sweeps):
        paper, seeds = published[reference.workers], sorted(reference.sources)
        own = [agreement(reference.grid(seed), paper) for seed in seeds]
        steps = [agreement(reference.grid(seed, "steps"), paper) for seed in seeds]
        orders = [[one.overall for one in own], [one.overall for one in steps], [one.within for one in own]]
        first = f"{own[0].common} ({own[0].batch_sizes})"
        rows.append([reference.name, reference.grid().over, len(seeds), first, *map(_over_seeds, orders)])
    return header, rows


def clocks(sweeps: Sweeps, published: dict[int, PublishedGrid]) -> Table:
    """The same if our steps took as long as the paper's seem to have, with the winners by that.

    Each seed has a clock of its own; that of the lowest one is shown, and gives the winners.
    """
    header = [
        "workers",
        "seeds",
        "a step takes",
        "Spearman",
        "by batch size alone",
        *(f"winner at {limit:g}" for limit in _LIMITS),
        "the paper's winner",
    ]
    rows: list[list[object]] = []
    for reference in references(sweeps):
        paper = published[reference.workers]
        grids = [reference.grid(seed, "steps") for seed in sorted(reference.sources)]
        clocks = [published_clock(grid, paper) for grid in grids]
        if clock := clocks[0]:
            takes = f"{1000 * clock.step_s:.0f} ms + {1000 * clock.image_s:.2f} ms an image"
            fitted = [agreement_on(own, grid, paper) for own, grid in zip(clocks, grids, strict=True) if own]
            orders = [_over_seeds(fitted), _over_seeds([agreement_by_batch(grid, paper) for grid in grids])]
            chosen = [words(winner_on(clock, grids[0], limit)) for limit in _LIMITS]
            rows.append([reference.name, len(grids), takes, *orders, *chosen, words(WINNERS[reference.workers])])
    return header, rows


def _over_seeds(values: Sequence[float | None]) -> str:
    """The first seed's correlation, and the range over all seeds where they differ, as in "0.59 (0.40 to 0.67)"."""
    known = [value for value in values if value is not None]
    if values[0] is None or len(set(map(_correlation, known))) == 1:
        return _correlation(values[0])
    return with_interval(values[0], (min(known), max(known)), _correlation)


def _correlation(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def outcomes(sweeps: Sweeps, published: dict[int, PublishedGrid]) -> Table:
    """What came of the paper's cells here, by worker count."""
    header = ["workers", "in the paper", "cells", *(f"here {one}" for one in _FATES)]
    rows: list[list[object]] = []
    for reference in references(sweeps):
        found = fates(reference.grid(), published[reference.workers])
        rows += [_fates(reference.name, theirs, found) for theirs in (_FATES[0], _FATES[1], _FATES[3])]
    return header, rows


def _fates(name: str, theirs: Outcome, found: Counter[tuple[Outcome, Outcome]]) -> list[object]:
    numbers = [found[theirs, ours] for ours in _FATES]
    word = "diverged or absent" if theirs is Outcome.DIVERGED else str(theirs)
    return [name, word, sum(numbers), *numbers]


def thresholds(sweeps: Sweeps) -> Table:
    """The winner of seed 0 by threshold, with the number of those that qualify."""
    grids = [(one.name, one.grid()) for one in references(sweeps)]
    header = ["threshold", *(f"{name} (over {grid.over})" for name, grid in grids)]
    return header, [[f"{limit:g}", *(_by_threshold(grid, limit) for _, grid in grids)] for limit in THRESHOLDS]


def _by_threshold(grid: Grid, limit: float) -> str:
    ranking = grid.ranking(limit)
    return f"{words(ranking[0])}, {len(ranking)} qualify" if ranking else "–"


def judgements(sweeps: Sweeps, published: dict[int, PublishedGrid]) -> Table:
    """How many cells of the paper are judged here as it judged them at 1.8, by our threshold."""
    found = [(one.name, one.grid(), published[one.workers]) for one in references(sweeps)]
    header = ["our threshold", *(name for name, _, _ in found)]
    rows: list[list[object]] = [
        [f"{limit:g}", *(f"{judged_alike(grid, paper, limit)} of {len(grid.trials)}" for _, grid, paper in found)]
        for limit in THRESHOLDS
    ]
    return header, rows


def cells(sweeps: Sweeps, published: dict[int, PublishedGrid]) -> Table:
    """A few cells without and with report 7's momentum and decay, beside the paper's areas."""
    names = [name for name in ("cells-plain", "cells-momentum") if name in sweeps]
    grids = [sweeps[name].grid(1, sweeps[name].seeds[0]) for name in names]
    words_of = {"cells-plain": "plain", "cells-momentum": "momentum 0.9, decay 0.004"}
    header = ["batch/rate", "paper", *(words_of[name] for name in names)]
    paper = published[1]
    rows: list[list[object]] = [
        [words(one), _area(paper.areas.get(one)), *(_cell(grid, one) for grid in grids)]
        for one in (grids[0].trials if grids else ())
    ]
    return header, [*rows, ["Spearman", "", *(_order(grid, paper) for grid in grids)]] if rows else []


def _area(value: float | None) -> str:
    return "diverged or absent" if value is None else measure(value)


def _cell(grid: Grid, setting: tuple[int, float]) -> str:
    trial, found = grid.trials[setting], grid.outcome(setting)
    if found is Outcome.DIVERGED or trial.area is None or trial.minimum_loss is None:
        return str(found)
    known = f"{measure(trial.area)}, minimum loss {trial.minimum_loss:.2f}"
    return known if found is Outcome.QUALIFIED else f"{known}, {found}"


def _order(grid: Grid, paper: PublishedGrid) -> str:
    """Spearman's correlation over the cells that learnt here and have an area in the paper."""
    kept = (Outcome.QUALIFIED, Outcome.ABOVE_THRESHOLD)
    common = [one for one in grid.trials if one in paper.areas and grid.outcome(one) in kept]
    own = [area for one in common if (area := grid.area(one)) is not None]
    found = spearman(own, [paper.areas[one] for one in common])
    return f"{_correlation(found)} over {len(common)} cells that learnt"


def ran_on(sweeps: Sweeps, devices: dict[str, str]) -> Table:
    """Hardware and versions, with the sweeps that ran so."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, sweep in sweeps.items():
        for versions in {_versions(devices.get(name, "–"), gang.versions) for gang in sweep.gangs}:
            found.setdefault(versions, []).append(name)
    header = ["device", "Python", "torch", "MPI", "sweeps", "trials", "attempts"]
    return header, [
        [*versions, len(names), *_numbers([sweeps[name] for name in names])] for versions, names in found.items()
    ]


def _versions(device: str, versions: dict[str, str]) -> tuple[str, ...]:
    mpi = " ".join(versions.get("mpi", "–").split(",")[0].split()[:4])
    return device, versions.get("python", "–"), versions.get("torch", "–"), mpi


def _numbers(sweeps: Sequence[RecordedSweep]) -> list[int]:
    return [sum(len(one.trials) for one in sweeps), sum(len(one.spans) for one in sweeps)]


def one_seed(sweeps: Sweeps) -> Table:
    """What `best` recommends from each seed by itself, and its regret by the other seeds, with their means."""
    header = ["workers", "area over", "seed", "winner", "recommended", "chance", "not ruled out"]
    header += ["best by the other seeds", "expected regret", "regret", "regret of the winner"]
    found = judged(sweeps)
    rows: list[list[object]] = []
    for kind in dict.fromkeys((one.workers, one.over) for one in found):
        of_kind = [one for one in found if (one.workers, one.over) == kind]
        for one in of_kind:
            settings = [words(one.winner), words(one.recommended), f"{100 * one.probability:.0f} %"]
            held = f"{words(one.best)}{'' if one.best in one.not_ruled_out else ', ruled out'}"
            shares = [f"{100 * share:.1f} %" for share in (one.stated, one.regret, one.winners_regret)]
            rows.append([*kind, one.seed, *settings, len(one.not_ruled_out), held, *shares])
        means = [fmean(each) for each in zip(*((o.stated, o.regret, o.winners_regret) for o in of_kind), strict=True)]
        rows.append([*kind, "mean", *["–"] * 5, *(f"{100 * share:.1f} %" for share in means)])
    return header, rows
