"""What the ranks of a trial printed, for the command line and the API."""

from __future__ import annotations

from typing import Any

from sweeper.errors import NotFoundError
from sweeper.store import Store


def printed_answer(store: Store, trial_id: str, number: int | None = None) -> dict[str, Any]:
    """What the ranks of an attempt printed, of the latest one where none is given.

    {"trial", "attempt", "state", "log", "text", "omitted"}. Long output is cut to its end; `omitted` counts the bytes
    before it. `log` is the file on the scheduler's machine, which alone has what a running attempt prints.
    `trial_id` may be a beginning that fits no other.

    Raises:
        NotFoundError: there is no such trial or attempt.
    """
    trial = store.trials.resolve(trial_id)
    attempts = {attempt.number: attempt for attempt in store.attempts.of(trial.id)}
    if not attempts:
        raise NotFoundError(f"trial {trial.id}: it has not begun", "`sweeper show SWEEP` lists the trials that have")
    found = attempts.get(max(attempts) if number is None else number)
    if found is None:
        known = ", ".join(map(str, attempts))
        raise NotFoundError(f"trial {trial.id}: it has no attempt {number}", f"its attempts are {known}")
    printed = store.attempts.printed(trial.id, found.number)
    return {
        "trial": trial.id,
        "attempt": found.number,
        "state": found.state,
        "log": found.log,
        "text": printed.text if printed else "",
        "omitted": printed.omitted if printed else 0,
    }
