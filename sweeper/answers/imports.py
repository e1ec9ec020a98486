"""What an import has stored, as values of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sweeper.answers.sweeps import heading
from sweeper.store import Store, SweepRecord, TrialRecord

if TYPE_CHECKING:  # what runs and ranks sweeps says where they are from, and needs no reader of files
    from sweeper.interchange.importing import LoggedTrial
    from sweeper.interchange.logs.time_origin import DecidedOrigin
    from sweeper.interchange.sources import ImportedSweep


def import_answer(
    store: Store, sweep_id: str, imported: Sequence[LoggedTrial], origin: DecidedOrigin
) -> dict[str, Any]:
    """What an import stored: {"sweep", "name", "seconds_origin", "notes", "trials": [...]}, with an account of each.

    `area` is `over` seconds, or over images or steps where the log has no seconds. `ignored_lines` counts the lines
    that became no point, `lost_lines` those of them that seem to have been one, and `replaced_lines` those that others
    stand for.
    """
    from sweeper.interchange.importing import notes_on_all

    sweep = store.sweeps.find(sweep_id)
    stored = store.trials.of(sweep.id)
    return {
        **heading(sweep),
        "seconds_origin": origin.origin.value,
        "notes": [*origin.notes, *notes_on_all(imported)],
        "trials": [_imported(sweep, trial, logged) for trial, logged in zip(stored, imported, strict=True)],
    }


def sweep_import_answer(imported: Sequence[ImportedSweep]) -> list[dict[str, Any]]:
    """What an import of whole sweeps stored: [{"sweep", "name", "file", "format", "trials", "points", "kept_ids",
    "notes"}]; `trials` and `points` are counts, `kept_ids` whether sweep and trials are called as in the file.
    """
    return [
        {
            "sweep": one.restored.sweep_id,
            "name": one.name,
            "file": str(one.source.path),
            "format": one.source.format,
            "trials": one.restored.trials,
            "points": one.restored.points,
            "kept_ids": one.restored.kept_ids,
            "notes": list(one.notes),
        }
        for one in imported
    ]


def imported_from(store: Store, sweep: SweepRecord, trial_id: str) -> dict[str, Any]:
    """{"source", "lacks"} of an imported trial: the file and run that it is from, and what its curve lacks, or None.

    Empty for trials that were run here.
    """
    attempts = store.attempts.of(trial_id) if sweep.origin == "import" else []
    if not attempts:
        return {}
    attempt = attempts[-1]
    told = attempt.effective.get("import", {}) if attempt.effective else {}
    lost, damage = told.get("lost_lines", 0), told.get("damage", "")
    lacks = f"{lost} line{'s' if lost > 1 else ''} of its log could not be read" if lost else damage
    return {"source": attempt.log.partition("; ")[0], "lacks": lacks or None}


def _imported(sweep: SweepRecord, trial: TrialRecord, logged: LoggedTrial) -> dict[str, Any]:
    log, over = logged.log, "seconds" if logged.log.seconds else sweep.over
    over = "steps" if over == "seconds" and not log.seconds else over
    return {
        "trial": trial.id,
        "state": trial.state.value,
        "file": str(log.path).encode("utf-8", "replace").decode(),
        "run": log.run or None,
        "format": log.format,
        "points": trial.points,
        "minimum_loss": trial.minimum_loss,
        "over": over,
        "area": getattr(trial, f"area_{over}"),
        "ignored_lines": len(log.ignored),
        "lost_lines": len(log.lost),
        "replaced_lines": len(log.left_out),
        "blank_lines": log.blank_lines,
        "comment_lines": log.comment_lines,
        "notes": list(log.notes),
        "parameters": trial.parameters,
    }
