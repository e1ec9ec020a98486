"""What a sweep costs: its rate, areas over dollars, and the bill.

The bill is for more than the areas: all attempts at a trial, for as long as they hold their seats, with start-up,
evaluation and what failed. Waiting for seats costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from sweeper.errors import SpecError
from sweeper.ranking.cost import SECONDS_PER_HOUR, over_dollars, stored_axis
from sweeper.ranking.rank import Candidate
from sweeper.spec import DOLLARS
from sweeper.store import Store, SweepRecord, TrialRecord


def rate_for(sweep: SweepRecord, over: str, given: float | None = None) -> float | None:
    """The rate that is `given`, else the sweep's; None where neither says, which an axis other than dollars may do.

    Raises:
        SpecError: areas over dollars without a rate.
    """
    rate = sweep.spec.rate if given is None else given
    if rate is None and over == DOLLARS:
        raise SpecError(
            [
                f"over: dollars needs a rate, and sweep {sweep.id} has none; set resources.dollars_per_worker_hour in "
                "the spec, or give a rate"
            ],
            "--dollars-per-worker-hour",
        )
    return rate


def candidates_over(
    store: Store, sweep: SweepRecord, over: str, rate: float | None = None, *, oversubscribed: bool = False
) -> list[Candidate]:
    """The trials of a sweep with their areas over an axis; over dollars at a rate, the sweep's own where none is given.

    Raises:
        SpecError: areas over dollars without a rate.
    """
    rate = rate_for(sweep, over, rate)
    found = store.trials.candidates(sweep.id, stored_axis(over), oversubscribed=oversubscribed)
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
    """Dollars of each trial: its attempts while they hold seats, those that run up to now; of an import its training.

    Of each trial are given id, workers and the seconds that it trained.
    """
    if sweep.origin == "import":
        seconds = {trial: trained or 0.0 for trial, _, trained in trials}
    else:
        seconds = store.attempts.seconds(sweep.id)
    return {trial: seconds.get(trial, 0.0) * workers * rate / SECONDS_PER_HOUR for trial, workers, _ in trials}
