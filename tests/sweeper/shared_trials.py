"""Sweeps whose trials shared cores, put into a store as if a program had run."""

from __future__ import annotations

from typing import Any

from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import Store, TrialRecord

# Reports what cannot win, and waits to be stopped.
LOSES = """
for step in 1 2 3 4; do echo '{"sweeper":{"loss":8}}'; done
sleep 600; : {loss}"""


def shared_trials(
    store: Store, program: str, space: dict[str, list[int]], *, only_last: bool = False, **others: Any
) -> list[TrialRecord]:
    """A sweep over a program, whose trials are complete and shared cores, or only the last; losses are its `loss`."""
    trial = {"command": ["sh", "-c", program]}
    written = {"name": "s", "trial": trial, "space": space, "objective": {"threshold": 9, "over": "steps"}, **others}
    spec = parse_spec(written)
    sweep = store.sweeps.add(spec, plan(spec))
    trials = store.trials.of(sweep)
    for trial_of in trials:
        points = [LossPoint(n, None, n / 10, float(trial_of.parameters.get("loss", 1))) for n in range(1, 5)]
        attempt, shared = store.attempts.claim(trial_of.id) or 0, not only_last or trial_of is trials[-1]
        store.attempts.add_points(trial_of.id, attempt, points)
        end = (TrialState.COMPLETED, summarize(points))
        store.attempts.finish(trial_of.id, attempt, *end, oversubscribed=shared)
    return store.trials.of(sweep)
