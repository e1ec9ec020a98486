"""How many trials ran at a time, for each worker count: trials that share a machine's memory slow each other down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from sweeper.spec.axes import WORKERS
from sweeper.store import AttemptSpan, Store, SweepRecord

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

_UNEQUAL = 0.5  # trials at a time by which worker counts may differ


def trials_at_a_time(spans: Sequence[AttemptSpan]) -> dict[int, float]:
    """By worker count, how many trials trained on a host at a time while its own did, in the mean over their training.

    1 says that each trained alone. Of a trial on several hosts the fullest one counts. Attempts that have not ended, or
    whose training took no time, are left out.
    """
    import numpy as np  # lists of figures load this module without it

    trained = [span for span in spans if span.trained]
    if not trained:
        return {}
    zero = min(span.started_at for span in trained)
    begins = np.array([_training_began(span, zero) for span in trained])
    ends = begins + np.array([(span.trained or 0.0) + span.off_clock for span in trained])
    together = np.zeros(len(trained))
    for host in {host for span in trained for host in span.hosts}:
        here = np.array([host in span.hosts for span in trained])
        together[here] = np.maximum(together[here], _overlaps(begins[here], ends[here]))
    workers = np.array([span.workers for span in trained])
    return {
        int(count): float(together[workers == count].sum() / (ends - begins)[workers == count].sum())
        for count in np.unique(workers)
    }


def _overlaps(begins: Array, ends: Array) -> Array:
    """Of each interval, the seconds that all of them have in it, its own among them."""
    import numpy as np

    times = np.concatenate([begins, ends])
    order = np.argsort(times, kind="stable")
    times = times[order]
    active = np.cumsum(np.repeat([1, -1], len(begins))[order])  # from each of the times to the next
    until = np.concatenate([[0.0], np.cumsum(active[:-1] * np.diff(times))])
    found: Array = np.interp(ends, times, until) - np.interp(begins, times, until)
    return found


def side_by_side_words(store: Store, sweep: SweepRecord) -> str:
    """That times of worker counts do not compare, in a sentence; empty where they do, or nobody knows.

    They do where each count had about as many trials at a time, or each worker a GPU of its own.
    """
    resources = (sweep.spec.written or {}).get("resources", {})
    if sweep.origin == "import" or resources.get("gpus_per_worker"):
        return ""
    found = trials_at_a_time(store.attempts.spans(sweep.id))
    if len(found) < 2 or max(found.values()) - min(found.values()) < _UNEQUAL:
        return ""
    return _words(found)


def _words(found: Mapping[int, float]) -> str:
    most, least = max(found, key=found.__getitem__), min(found, key=found.__getitem__)
    return (
        f"Trials with {_of(most)} ran {found[most]:.1f} at a time, and those with {_of(least)} {found[least]:.1f}. "
        "On one machine they slow each other down: to compare worker counts, run the sweep with --one-at-a-time."
    )


def _of(workers: int) -> str:
    return f"1 {WORKERS[:-1]}" if workers == 1 else f"{workers} {WORKERS}"


def _training_began(span: AttemptSpan, zero: datetime) -> float:
    """Seconds since `zero`."""
    return (span.started_at - zero).total_seconds() + (span.startup or 0.0) + (span.setup or 0.0)
