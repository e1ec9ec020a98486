"""What `sweeper run` says beforehand of a sweep that adds seeds while it runs: about how many trials that will be."""

from __future__ import annotations

from sweeper.ranking.noise import USUAL_NOISE
from sweeper.ranking.seeds_ahead import trials_ahead
from sweeper.spec import SweepSpec
from sweeper.spec.repeats import Race


def race_ahead(spec: SweepSpec) -> str | None:
    """A line on the seeds to come; None where the spec says how many there are."""
    race = spec.repeats
    if not isinstance(race, Race):
        return None
    settings = list(spec.points())
    about = trials_ahead(settings, spec.objective.group_by, race)
    most = len(settings) * race.at_most
    most = most if race.trials is None else min(most, race.trials)
    return (
        f"repeats: {_seeds(race.at_least)} of each of {len(settings)} settings, then more where they tell most, until "
        f"{_end(race)}; about {about} trials in all, {most} at most. Expect more if areas vary by chance by more than "
        f"the usual {100 * USUAL_NOISE:g} %"
    )


def _seeds(number: int) -> str:
    return f"{number} seed{'s' if number > 1 else ''}"


def _end(race: Race) -> str:
    if race.regret is None:
        return f"the best of each group is told apart at {100 * race.level:g} %"
    return f"what is recommended of each group is expected to be {100 * race.regret:g} % above the best, or less"
