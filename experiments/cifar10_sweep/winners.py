"""The winners: over the seeds of a worker count, and in the sweeps that were pruned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from experiments.cifar10_sweep.recorded import Grid, Reference, Setting, Sweeps, candidate, references, setting_of
from sweeper.ranking import Candidate
from sweeper.ranking.confidence import areas_of, compare, interval
from sweeper.ranking.settings import rank_groups


@dataclass(frozen=True)
class MeanWinner:
    """The setting with the smallest mean area over the seeds, of those that were trained with all of them.

    `interval` is Student's at 95 %, None for one seed. `runner_up` is the next setting, and `separated` says whether a
    test on the areas of both tells the two apart (`sweeper.ranking.confidence`); None where nobody can say.
    """

    setting: Setting
    seeds: int
    area: float
    interval: tuple[float, float] | None
    runner_up: Setting | None
    separated: bool | None


@dataclass(frozen=True)
class Regret:
    """What a pruned sweep chose for a worker count, beside the `best` of the reference grid of the same seed.

    `percent` is by how much the area of the `chosen` setting in the reference is above the smallest one there; None
    where nothing was chosen, or where that setting does not qualify in the reference.
    """

    sweep: str
    workers: int
    seed: int
    over: str
    best: Setting | None
    chosen: Setting | None
    percent: float | None


def mean_winner(reference: Reference) -> MeanWinner | None:
    """The winner over the seeds of a reference; None where no setting qualifies with all of them."""
    ranking = _ranking(reference)
    best, others = next(iter(ranking), None), ranking[1:]
    if best is None or best.area is None:
        return None
    first = next(iter(compare(best, others)), None)
    return MeanWinner(
        setting_of(best),
        len(best.trials),
        best.area,
        interval(areas_of(best)),
        setting_of(others[0]) if others else None,
        first.separated if first else None,
    )


def _ranking(reference: Reference) -> tuple[Candidate, ...]:
    """The settings by mean area. Where only some got further seeds, these are compared."""
    grids = [reference.grid(seed) for seed in reference.sources]
    trials = [trial for grid in grids for trial in grid.trials.values()]
    if reference.further:
        more = [candidate(one, grids[0].over) for one in reference.further.trials if one.workers == reference.workers]
        chosen = {setting_of(one) for one in more}
        trials = [one for one in trials if setting_of(one) in chosen] + more
    seeds = len({trial.parameters["seed"] for trial in trials})
    groups = rank_groups(trials, grids[0].threshold, ("workers",), seeds)
    return groups[0].ranking if groups else ()


def regrets(sweeps: Sweeps) -> list[Regret]:
    """Of all pruned sweeps that have a reference, in the order of the sweeps."""
    return [one for name in sweeps if _is_pruned(name) for one in _regrets(name, sweeps)]


def _is_pruned(name: str) -> bool:
    return name.startswith(("area-", "forecast-", "reuse-"))


def _regrets(name: str, sweeps: Sweeps) -> Iterator[Regret]:
    sweep = sweeps[name]
    for reference in references_of(name, sweeps):
        for seed in sweep.seeds:
            if seed in reference.sources:
                pruned = sweep.grid(reference.workers, seed)
                yield _regret(name, reference.grid(seed, pruned.over), pruned.winner())


def _regret(name: str, grid: Grid, chosen: Setting | None) -> Regret:
    ranking = grid.ranking()
    best = ranking[0] if ranking else None
    found = Regret(name, grid.workers, grid.seed, grid.over, best, chosen, None)
    if best is None or chosen not in ranking:
        return found
    area, smallest = grid.area(chosen), grid.area(best)
    return replace(found, percent=100 * (area / smallest - 1)) if area and smallest else found


def references_of(name: str, sweeps: Sweeps) -> list[Reference]:
    """The references of a pruned sweep: for each of its worker counts the one that ran on as many GPUs."""
    counts, shared = sweeps[name].counts, name.startswith("reuse-shared")
    known = [one for one in references(sweeps) if one.workers in counts and not one.uniform]
    return [one for one in known if one.shared == (shared and one.workers > 1)]
