"""What training costs: dollars by the hour of each worker, as an axis of areas and as a bill.

Over dollars a curve goes along as far as its training has cost: seconds / 3600 x workers x rate. So an area over
dollars is the area over seconds times dollars per second, and needs no curve. The bill is for more: all attempts at a
trial, from claim to end, with start-up, evaluation and what failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sweeper.errors import SpecError
from sweeper.ranking import Candidate
from sweeper.space import WORKERS
from sweeper.spec import DOLLARS, Resources
from sweeper.store import Store, SweepRecord, TrialRecord

SECONDS_PER_HOUR = 3600.0


def rate_of(sweep: SweepRecord) -> float | None:
    """Dollars per worker and hour, as the sweep's spec has it; None where it does not, and for an import."""
    resources = (sweep.spec or {}).get("resources", {})
    return Resources.model_validate(resources).dollars_per_worker_hour


def rate_for(sweep: SweepRecord, over: str, given: float | None = None) -> float | None:
    """The rate that is `given`, else the sweep's; None where neither says, which an axis other than dollars may do.

    Raises:
        SpecError: areas over dollars without a rate.
    """
    rate = rate_of(sweep) if given is None else given
    if rate is None and over == DOLLARS:
        raise SpecError(
            [
                f"--over: dollars needs a rate, and sweep {sweep.id} has none; give --dollars-per-worker-hour, "
                "or resources.dollars_per_worker_hour in the spec"
            ]
        )
    return rate


def stored_axis(over: str) -> str:
    """The axis over which the store has the areas that those over this one are made of."""
    return "seconds" if over == DOLLARS else over


def dollars_per_second(parameters: Mapping[str, Any], rate: float) -> float:
    """What a second of a trial costs, with all its workers."""
    return float(rate * parameters[WORKERS] / SECONDS_PER_HOUR)


def over_dollars(candidate: Candidate, rate: float) -> Candidate:
    """A candidate over seconds with its area over dollars."""
    if candidate.area is None:
        return candidate
    return candidate._replace(area=candidate.area * dollars_per_second(candidate.parameters, rate))


def candidates_over(
    store: Store, sweep: SweepRecord, over: str, rate: float | None = None, *, oversubscribed: bool = False
) -> list[Candidate]:
    """The trials of a sweep with their areas over an axis; over dollars at a rate, the sweep's own where none is given.

    Raises:
        SpecError: areas over dollars without a rate.
    """
    rate = rate_for(sweep, over, rate)
    found = store.candidates(sweep.id, stored_axis(over), oversubscribed=oversubscribed)
    return [over_dollars(one, rate) for one in found] if over == DOLLARS and rate is not None else found


def candidate_over(trial: TrialRecord, over: str, rate: float | None) -> Candidate:
    """The same of one trial; without a rate it has no area over dollars."""
    candidate = trial.candidate(stored_axis(over))
    if over != DOLLARS:
        return candidate
    return candidate._replace(area=None) if rate is None else over_dollars(candidate, rate)


def bill(
    store: Store, sweep: SweepRecord, trials: Sequence[tuple[str, int, float | None]], rate: float
) -> dict[str, float]:
    """Dollars of each trial: its attempts from claim to end, those that run up to now; of an import its training.

    Of each trial are given id, workers and the seconds that it trained.
    """
    if sweep.origin == "import":
        seconds = {trial: trained or 0.0 for trial, _, trained in trials}
    else:
        seconds = store.attempt_seconds(sweep.id)
    return {trial: seconds.get(trial, 0.0) * workers * rate / SECONDS_PER_HOUR for trial, workers, _ in trials}
