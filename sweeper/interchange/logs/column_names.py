"""Which of a log's columns or keys hold the loss, the seconds, the step, the epoch and the images."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sweeper.interchange.logs.base import Keys

_EVALUATION = ("val", "valid", "validation", "validate", "test", "testing", "eval", "evaluation", "dev", "holdout")
_TRAINING = ("train", "training", "tr", "trn")
_STATISTICS = ("min", "max", "std", "stddev", "stderr", "var", "median", "best", "count", "scale", "weight")
_STEPS = ("step", "iteration", "iter", "it", "batch", "update")

# Usual names in the order of preference, as `plain` writes them.
USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "seconds": (
        *("seconds", "elapsed_seconds", "elapsed", "elapsed_time", "time_elapsed", "time_total", "total_time"),
        *("train_time", "training_time", "time", "sec", "secs", "cumulative_time", "runtime", "duration"),
        *("relative_time", "relative_time_process", "time_time_elapsed", "zeit", "sekunden"),
        *("timestamp", "wall_time", "walltime", "relative_time_wall", "datetime", "date", "date_time"),
        "elapsed_time_per_iteration",
        *(f"{of}_time" for of in ("epoch", *_STEPS)),
        *(f"time_{per}{of}" for of in ("epoch", *_STEPS) for per in ("per_", "", "this_")),
        *(
            f"{of}_{per}"
            for of in ("seconds", "sec", "secs", "s", "ms")
            for per in ("epoch", "it", "iter", "step", "batch")
        ),
        *(f"{of}_per_{per}" for of in ("seconds", "sec", "s", "ms") for per in ("epoch", *_STEPS)),
        *(f"{of}_{unit}" for of in ("epoch", *_STEPS) for unit in ("seconds", "duration")),
    ),
    "loss": (
        *("loss", "train_loss", "training_loss", "loss_train", "loss_training", "tr_loss", "trn_loss"),
        *("train_loss_step", "training_loss_step", "loss_step", "batch_loss", "train_batch_loss", "step_loss"),
        *("train_loss_epoch", "training_loss_epoch", "loss_epoch", "epoch_loss", "train_epoch_loss"),
        *("mean_loss", "avg_loss", "average_loss", "loss_avg", "loss_mean", "train_avg_loss", "running_loss"),
        *("total_loss", "train_total_loss", "loss_total", "train_loss_total", "lm_loss", "verlust"),
    ),
    "step": (
        *("step", "steps", "global_step", "trainer_global_step", "train_global_step", "iteration", "iterations"),
        *("iter", "iters", "it", "training_iteration", "num_steps", "update", "updates", "schritt"),
    ),
    "epoch": ("epoch", "epochs", "train_epoch", "trainer_epoch", "ep", "epoche"),
    "images": (
        "images",
        "images_seen",
        "samples",
        "samples_seen",
        "examples",
        "examples_seen",
        "num_samples",
        "consumed_samples",
    ),
}
_UNIT_OF_NAME = re.compile(r"(.+?)_(ns|us|µs|ms|milliseconds|millis|s|sec|secs|seconds|min|mins|minutes|h|hrs|hours)$")
_ONLY_UNIT = {"ms": "ms", "milliseconds": "ms", "millis": "ms", "minutes": "min", "hours": "h", "ns": "ns"}
_UNITS = {"milliseconds": "ms", "millis": "ms", "µs": "us", "sec": "s", "secs": "s", "seconds": "s"}
_LONG_UNITS = {"mins": "min", "minutes": "min", "hrs": "h", "hours": "h"}
_TIME_LIKE = re.compile(
    r"(?<!_per_)time|(?<!per_)sec|clock|dur|wall|elapsed|stamp|took|(?:^|_)(?:t|ms|us|ns|min|hours?)(?:_|$)"
)
_PER = re.compile(rf"(?:^|_)(?:per_|this_)?(epoch|{'|'.join(_STEPS)})(?:_|$)")
_TOTAL = ("elapsed", "total", "wall", "walltime", "timestamp", "relative", "cumulative", "date", "datetime", "runtime")


@dataclass(frozen=True)
class CurveColumns:
    """The names of one log that hold what a row needs; None for what it does not have."""

    loss: str
    seconds: str | None
    step: str | None
    epoch: str | None
    images: str | None


def plain(name: str) -> str:
    """A name in small letters, with one underscore for whatever is neither letter nor digit."""
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")


def find_name(role: str, names: Iterable[str], chosen: str | None = None) -> str | None:
    """The name for a role: the chosen one, else the most usual; case, blanks, dots and dashes do not matter."""
    known = list(names)
    if chosen in known:
        return chosen
    by_plain: dict[str, str] = {}
    for name in known:
        by_plain.setdefault(plain(name), name)
        if role == "seconds" and chosen is None:
            by_plain.setdefault(_without_unit(plain(name)), name)
    wanted = USUAL_NAMES[role] if chosen is None else (plain(chosen),)
    return next((by_plain[name] for name in wanted if name in by_plain), None)


def find_curve_columns(names: Iterable[str], keys: Keys) -> CurveColumns | None:
    """The names of the roles, or None where there is none for the loss."""
    known = list(names)
    loss = find_name("loss", known, keys.loss)
    if loss is None and keys.loss is None and _is_saved_chart({*map(plain, known)}):
        loss = find_name("loss", known, "value")
    if loss is None:
        return None
    seconds = find_name("seconds", known, keys.seconds)
    step, images = find_name("step", known, keys.step), find_name("images", known, keys.images)
    return CurveColumns(loss, seconds, step, find_name("epoch", known), images)


def _is_saved_chart(names: set[str]) -> bool:
    """Whether these are the columns of one metric's values, as TensorBoard and Neptune save them."""
    return "value" in names and names <= {"value", "step", "wall_time", "timestamp", "x", "index", ""}


def unit_of_name(name: str) -> str | None:
    """The unit of time that a name states, such as "ms" for `time (ms)`; None where it states none."""
    simple = plain(name)
    if simple in _ONLY_UNIT:
        return _ONLY_UNIT[simple]
    found = _UNIT_OF_NAME.fullmatch(simple)
    unit = found[2] if found else simple.partition("_")[0]
    unit = unit if unit in (*_UNITS, *_LONG_UNITS, "ms", "us", "ns", "s", "min", "h") else ""
    return {**_UNITS, **_LONG_UNITS}.get(unit, unit) or None


def is_total(name: str) -> bool:
    """Whether a name says that its times count from a beginning."""
    return not set(plain(name).split("_")).isdisjoint(_TOTAL)


def per_what(name: str) -> str | None:
    """What a name says that its times are of each: "epoch" or "step"; None where it does not say."""
    found = _PER.search(_without_unit(plain(name)))
    return None if not found else "epoch" if found[1] == "epoch" else "step"


def other_losses(names: Iterable[str], taken: str) -> list[str]:
    """Names beside the one taken that may hold a loss of training."""
    return [name for name in names if name != taken and may_be_loss(name)]


def may_be_loss(name: str) -> bool:
    """Whether a name has a loss in it, neither one of evaluation nor a spread or an extreme."""
    words = plain(name).split("_")
    return any("loss" in word for word in words) and not {*words} & {*_EVALUATION, *_STATISTICS}


def may_be_time(name: str) -> bool:
    """Whether a name sounds like a time, and not like one of evaluation."""
    simple = plain(name)
    return _TIME_LIKE.search(simple) is not None and not is_of_evaluation(simple.replace("_", " "))


def is_of_evaluation(text: str) -> bool:
    """Whether a text has a word for validation or test, and none for training."""
    words = set(re.findall(r"[^\W_]+", text.casefold()))
    return not words.isdisjoint(_EVALUATION) and words.isdisjoint(_TRAINING)


def is_of_training(text: str) -> bool:
    """Whether a text has a word for training."""
    return not set(re.findall(r"[^\W_]+", text.casefold())).isdisjoint(_TRAINING)


def find_phase(names: Collection[str], rows: Sequence[Mapping[str, object]]) -> str | None:
    """The name that tells rows of training from those of evaluation.

    By its own name, such as `phase` or `is_validation`, or since it says a word for training in some rows and one for
    evaluation in others.
    """
    by_plain = {plain(name): name for name in names}
    wanted = (
        "mode",
        "phase",
        "split",
        "stage",
        "subset",
        "partition",
        "dataset",
        "set",
        "type",
        "event",
        "kind",
        "tag",
    )
    flags = [simple for simple in by_plain if _FLAG.fullmatch(simple)]
    named = [by_plain[simple] for simple in (*wanted, *flags) if simple in by_plain]
    return next((name for name in named if any(is_evaluation_row(name, row.get(name)) for row in rows)), None) or next(
        (name for name in names if _tells_apart(name, rows)), None
    )


_FLAG = re.compile(rf"(?:is_)?(?:{'|'.join(_EVALUATION)})(?:_mode|_step|_set)?")


def is_evaluation_row(name: str, value: object) -> bool:
    """Whether a row is of evaluation, by the value that it has under the name of `find_phase`."""
    if _FLAG.fullmatch(plain(name)):
        return str(value).strip().casefold() in ("1", "1.0", "true", "yes", "y")
    return is_of_evaluation(str(value))


def _tells_apart(name: str, rows: Sequence[Mapping[str, object]]) -> bool:
    words = {value for row in rows if isinstance(value := row.get(name), str) and len(value) < 30}
    return any(map(is_of_evaluation, words)) and any(map(is_of_training, words))


def _without_unit(simple: str) -> str:
    if simple in _ONLY_UNIT:
        return "seconds"
    found = _UNIT_OF_NAME.fullmatch(simple)
    return found[1] if found else simple
