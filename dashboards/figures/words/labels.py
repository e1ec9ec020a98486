"""The words in figures: what a group, a trial, a result and an axis are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dashboards.figures.tables import GLOBAL_BATCH_SIZE, WORKERS, TrialGroup, TrialRow, TrialTable
from dashboards.figures.words.numbers import measure, setting
from sweeper.plan.trial import TrialState

_UNITS = {"seconds": "s", "images": "images", "steps": "steps", "dollars": "$"}
_AXES = {
    "seconds": "training time, s",
    "images": "images seen",
    "epochs": "epochs",
    "steps": "steps",
    "dollars": "training cost, $",
}


def group_name(key: Mapping[str, Any]) -> str:
    """What a group is called: "2 workers", "2 workers, average weights", or "all trials" where it is the only one."""
    names = []
    for name, value in key.items():
        if name == WORKERS:
            names.append(f"{setting(value)} worker{'' if value == 1 else 's'}")
        else:
            names.append(f"{plain(name)} {setting(value)}")
    return ", ".join(names) or "all trials"


def batch_word(table: TrialTable) -> str:
    """What a batch size counts in this table."""
    return "global batch" if table.batch_name == GLOBAL_BATCH_SIZE else "batch"


def trial_name(row: TrialRow, table: TrialTable) -> str:
    """All that tells a trial from the others of its group, such as "batch 128, rate 0.5, average weights"."""
    names = []
    if row.batch_size is not None:
        names.append(f"{batch_word(table)} {setting(row.batch_size)}")
    if row.learning_rate is not None:
        names.append(f"rate {setting(row.learning_rate)}")
    names += [f"{plain(name)} {setting(value)}" for name, value in row.others.items()]
    return ", ".join(names) or f"trial {row.position}"


def result_name(group: TrialGroup, table: TrialTable) -> str:
    """The winner as in "batch 128, rate 0.5, area 12.30", or that none of the trials qualified."""
    winner = group.winner
    if winner is not None and winner.area is not None:
        return f"{trial_name(winner, table)}, area {measure(winner.area)}"
    trials = len(group.rows)
    return f"none of {trials} qualified" if trials > 1 else "its trial did not qualify"


def nearest_name(group: TrialGroup, table: TrialTable) -> str:
    """How near a group without a winner came to the threshold."""
    best = group.best_minimum_loss
    known = "no loss known" if best is None else f"best minimum loss {measure(best)}"
    return f"{known}, {threshold_name(table)}"


def threshold_name(table: TrialTable) -> str:
    """The threshold in words."""
    return "no threshold" if table.threshold is None else f"threshold {setting(table.threshold)}"


def seeds_name(table: TrialTable) -> str:
    """Over how many seeds areas are means, as in "; mean of 3 seeds"; nothing where there is one each."""
    return "" if table.repeats == 1 else f"; mean of {_seeds(table)}"


def one_of_seeds(table: TrialTable) -> str:
    """What a figure shows of settings with several seeds, of which it draws one; nothing where there is one each."""
    return "" if table.repeats == 1 else f", its first seed; areas are means of {_seeds(table)}"


def _seeds(table: TrialTable) -> str:
    fewest = min(row.repeats for row in table.rows)
    return f"{table.repeats} seeds" if fewest == table.repeats else f"{fewest} to {table.repeats} seeds"


def line_name(group: TrialGroup, trial: TrialRow | None, trials: TrialTable, *, chosen: bool = False) -> str:
    """The group, and the trial whose line it is: its winner, or the one that came nearest, or one that was chosen."""
    name = group_name(group.key)
    if trial is None:
        return f"{name}: no curve"
    if chosen:
        state = "" if trial.state is TrialState.COMPLETED else f" ({trial.state})"
        return f"{name}, {trial_name(trial, trials)}{state}"
    if group.winner is None:
        return f"{name}: {result_name(group, trials)}, nearest is {trial_name(trial, trials)}"
    return f"{name}: {result_name(group, trials)}"


def area_unit(over: str) -> str:
    """Unit of an area over "seconds", "images", "steps" or "dollars"."""
    return f"loss × {_UNITS[over]}"


def axis_name(over: str) -> str:
    """What a curve's axis shows, with its unit."""
    return _AXES[over]


def plain(name: str) -> str:
    """A parameter's name for people."""
    return name.rpartition(".")[2].replace("_", " ")
