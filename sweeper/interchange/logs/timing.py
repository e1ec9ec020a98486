"""The times of a log's rows as seconds of training: their unit, what they count, and where a session goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise

from sweeper.interchange.logs.base import Ignored, LogOptions
from sweeper.interchange.logs.column_names import is_total, per_what, plain, unit_of_name
from sweeper.interchange.logs.rows import Reading, Row
from sweeper.interchange.logs.sessions import Ordered
from sweeper.interchange.logs.times import Moment, TimeKind, in_unit, unit_of
from sweeper.ranking.time_origin import CLOCK_SECONDS

_DAY = Decimal(86_400)
_MOST_INTERVALS = 3  # as in `sweeper.ranking.time_origin`
_LONGEST_STEP_S = Decimal(1_000_000)


class UnclearTimesError(Exception):
    """Times that may mean two things; the text says what is unclear, `remedy` what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass
class Timed:
    """Rows whose times are seconds; `left_out` are lines whose time does not fit the others'."""

    rows: list[Row]
    left_out: list[Ignored] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def as_seconds(rows: Sequence[Row], name: str, options: LogOptions) -> Timed:
    """The rows with their times in seconds, read by the unit that is given, named, written, or told by their size.

    Raises:
        UnclearTimesError: numbers whose unit nothing tells.
    """
    found = _of_one_kind(rows)
    moments = [row.time for row in found.rows if row.time]
    if not moments:
        return found
    if moments[0].kind is TimeKind.NUMBER:
        unit = options.time_unit or unit_of_name(name) or unit_of(moments)
        if unit is None:
            raise UnclearTimesError(
                f"its {name!r} goes up to {max(one.seconds for one in moments):.10g}, which is neither a time of "
                "training in seconds nor one since 1970",
                "name their unit with --time-unit ms, us or ns, or leave them out with --no-seconds",
            )
        if unit != "s":
            found.notes.append(f"its {name!r} is read as {_UNIT_WORDS[unit]}")
        found.rows = [replace(row, time=in_unit(row.time, unit) if row.time else None) for row in found.rows]
    elif moments[0].kind is TimeKind.CLOCK:
        _count_days(found)
    return found


_UNIT_WORDS = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "min": "minutes", "h": "hours"}


def _of_one_kind(rows: Sequence[Row]) -> Timed:
    """Rows whose times are written the same way as most are."""
    kinds = [row.time.kind for row in rows if row.time]
    if len(set(kinds)) <= 1:
        return Timed(list(rows))
    usual = max(dict.fromkeys(kinds), key=kinds.count)
    others = [
        Ignored(row.line, f"its time is {row.time.kind.value}, others are {usual.value}", lost=True)
        for row in rows
        if row.time and row.time.kind is not usual
    ]
    return Timed([row for row in rows if row.time and row.time.kind is usual], others)


def _count_days(found: Timed) -> None:
    """A clock of the day that passes midnight goes on."""
    times = [row.time.seconds for row in found.rows if row.time]
    rises = sorted(after - before for before, after in pairwise(times) if after > before)
    if not rises or times[0] <= _MOST_INTERVALS * rises[len(rises) // 2] or max(times) >= _DAY:
        return
    days, rows = 0, [found.rows[0]]
    for before, row, time in zip(times, found.rows[1:], times[1:], strict=False):
        days += before - time > _DAY / 2
        rows.append(replace(row, time=Moment(time + days * _DAY, TimeKind.CLOCK)))
    if days:
        found.rows = rows
        found.notes.append("its clock passes midnight, and goes on from there")


_EACH = {"per-step": "step", "per-row": "row"}


def accumulate(found: Ordered, name: str, reading: Reading, options: LogOptions) -> tuple[list[Decimal], bool]:
    """Seconds of each row since its training began, or since its clock's beginning, which do not fall.

    True beside them where they were summed, and so begin at zero.

    Raises:
        UnclearTimesError: times that fall without showing what they count.
    """
    times = [row.time.seconds for row in found.rows if row.time]
    what = _what_they_are(found, times, name, reading.names, options)
    _check_lost(found, times, name, reading.ignored, total=what == "total")
    if what == "total":
        return join_times(found, times, name), False
    counts = _steps_of_each(found, name, what, given=options.time_is is not None)
    total, seconds = Decimal(0), []
    for time, count in zip(times, counts, strict=True):
        total += time * count
        seconds.append(total)
    if any(time < 0 for time in times):
        raise UnclearTimesError(f"its {name!r} is below zero in places", "leave it out with --no-seconds")
    summed = "times the steps between rows" if any(count != 1 for count in counts) else "from zero on"
    hint = "" if options.time_is else " (--time-is total if it counts from the beginning)"
    each = "epoch" if what == "per-step" and _are_epochs(found) else _EACH[what]
    found.notes.append(f"its {name!r} is the time of each {each}: summed, {summed}{hint}")
    return seconds, True


def _are_epochs(found: Ordered) -> bool:
    return found.positions is not None and found.positions == [row.epoch for row in found.rows]


def _check_lost(
    found: Ordered, times: Sequence[Decimal], name: str, ignored: Sequence[Ignored], *, total: bool
) -> None:
    """Refuse times that cannot be added up since a line among them was lost.

    Raises:
        UnclearTimesError: a line of single steps' times was lost, or one where a clock seems to begin anew.
    """
    numbers = [row.line.number for row in found.rows]
    spans = [(numbers[0], numbers[-1])]
    if total:
        gaps = sorted(after - before for before, after in pairwise(times))
        spans = [
            (numbers[index - 1], numbers[index])
            for index in range(1, len(times))
            if times[index] - times[index - 1] < gaps[len(gaps) // 2] / 2
        ]
        _check_stopped(found, times, name)
    for item in ignored:
        if item.lost and any(min(span) < item.line.number < max(span) for span in spans):
            raise UnclearTimesError(
                f"its {name!r} has to be added up, and line {item.line.number} is missing in the sum: it {item.reason}",
                "correct the line, or leave the times out with --no-seconds",
            )


def _check_stopped(found: Ordered, times: Sequence[Decimal], name: str) -> None:
    """Refuse a clock that stands still while steps are missing: a session may have begun there."""
    positions = found.positions
    if positions is None or len(positions) < 3:
        return
    gaps = [after - before for before, after in pairwise(positions)]
    usual = sorted(gaps)[(len(gaps) - 1) // 2]
    for index, gap in enumerate(gaps, start=1):
        if gap > usual and times[index] == times[index - 1] and index not in found.begins:
            above, below = found.rows[index - 1].line.number, found.rows[index].line.number
            raise UnclearTimesError(
                f"its {name!r} stands still between line {above} and line {below}, where steps are missing",
                "correct the lines between, or leave the times out with --no-seconds",
            )


def _restarts(found: Ordered, index: int, above: Moment | None) -> bool:
    time = found.rows[index].time
    return time is not None and above is not None and time.seconds <= above.seconds


def _what_they_are(
    found: Ordered, times: Sequence[Decimal], name: str, names: Sequence[str], options: LogOptions
) -> str:
    """What times count: "total", from a beginning on; "per-step"; "per-row", since the row before."""
    kind = found.rows[0].time.kind if found.rows[0].time else TimeKind.NUMBER
    absolute = kind in (TimeKind.DATE, TimeKind.DAY, TimeKind.ZONED)
    if options.time_is or absolute:
        return options.time_is if options.time_is and not absolute else "total"
    if kind is TimeKind.RATE or per_what(name) or (plain(name) == "time" and "data_time" in map(plain, names)):
        return "per-step"
    begins = set(found.begins)
    falls = [index for index in range(1, len(times)) if times[index] < times[index - 1] and index not in begins]
    if is_total(name):
        return "total"
    if _stay_narrow(found, times):
        if any(after < before for before, after in pairwise(times)) or len(set(times)) == 1:
            return "per-step"
        raise UnclearTimesError(
            f"its {name!r} stays between {min(times):.6g} and {max(times):.6g} from row to row", _REMEDY
        )
    if not falls:
        return "total"
    if _fluctuate(times, falls):
        return "per-step" if _count_by_ones(found.positions) else _ask(found, name, falls)
    if len(falls) * 5 > len(times) - 1 or found.positions is None:
        return _ask(found, name, falls)
    return "total"


def _stay_narrow(found: Ordered, times: Sequence[Decimal]) -> bool:
    """Whether the times of steps, one a row, stay close to a level far above zero.

    A clock's times rise from near zero; those of single steps do not, but may happen to rise.
    """
    if found.positions is None or max(times) >= _LONGEST_STEP_S or not _count_by_ones(found.positions):
        return False
    # The first step may take long: it warms up.
    return _is_narrow(times) or (len(times) > 2 and times[0] > max(times[1:]) and _is_narrow(times[1:]))


def _is_narrow(times: Sequence[Decimal]) -> bool:
    changes = sorted(abs(after - before) for before, after in pairwise(times))
    return bool(changes) and min(times) > _MOST_INTERVALS * changes[len(changes) // 2] and max(times) < 2 * min(times)


_REMEDY = (
    "say what it counts: --time-is total (from the beginning), per-step (seconds of one step) or per-row (seconds "
    "since the row above); or leave it out with --no-seconds"
)


def _fluctuate(times: Sequence[Decimal], falls: Sequence[int]) -> bool:
    """Whether times stay about a level, as those of single steps do."""
    ordered = sorted(times)
    level = ordered[len(ordered) // 2]
    changes = sorted(abs(after - before) for before, after in pairwise(times))
    usual = changes[len(changes) // 2]
    drift = abs(times[-1] - times[min(1, len(times) - 1)])
    return len(falls) * 5 >= len(times) - 1 and usual * 3 <= level < _LONGEST_STEP_S and drift <= level


def _count_by_ones(positions: Sequence[float] | None) -> bool:
    """Whether a row is a step, but for rows that may be missing."""
    if positions is None:
        return True
    gaps = sorted(after - before for before, after in pairwise(positions))
    return not gaps or gaps[(len(gaps) - 1) // 2] == 1


def _ask(found: Ordered, name: str, falls: Sequence[int]) -> str:
    before, after = found.rows[falls[0] - 1].line.number, found.rows[falls[0]].line.number
    raise UnclearTimesError(
        f"its {name!r} falls in {len(falls)} of {len(found.rows) - 1} places, first from line {before} to line {after}",
        _REMEDY,
    )


def _steps_of_each(found: Ordered, name: str, what: str, *, given: bool) -> list[Decimal]:
    """How many steps each row stands for.

    Raises:
        UnclearTimesError: steps are missing, and it is not `given` what times count.
    """
    ones = [Decimal(1)] * len(found.rows)
    if what == "per-row":
        return ones
    if per_what(name) == "epoch":
        epochs = [row.epoch for row in found.rows]
        if any(epoch is None for epoch in epochs) or _count_by_ones([epoch or 0.0 for epoch in epochs]):
            return ones
        raise UnclearTimesError(
            f"its {name!r} is the time of an epoch, but its rows are not an epoch each",
            "say what it counts with --time-is per-row or total, or leave it out with --no-seconds",
        )
    positions = found.positions
    if positions is None or all(after - before == 1 for before, after in pairwise(positions)):
        return ones
    gaps = [Decimal(repr(after - before)) for before, after in pairwise(positions)]
    usual = sorted(gaps)[len(gaps) // 2]
    missing = next((index for index, gap in enumerate(gaps, start=1) if gap > usual), None)
    if missing is not None and not given:
        above, below = (found.rows[index].line.number for index in (missing - 1, missing))
        raise UnclearTimesError(
            f"its {name!r} has to be added up, and steps are missing between line {above} and line {below}",
            "give --time-is per-step to take them to be like the next one, or leave the times out with --no-seconds",
        )
    first = Decimal(repr(positions[0]))
    if first == 0:
        return [Decimal(1), *gaps]  # the step before the first one
    return [first if 0 < first <= usual else usual, *gaps]


def join_times(found: Ordered, times: Sequence[Decimal], name: str) -> list[Decimal]:
    """Times that go on where a session begins, and where a clock steps back."""
    rises = sorted(after - before for before, after in pairwise(times) if after > before)
    usual = rises[len(rises) // 2] if rises else Decimal(0)
    begins, offset, seconds = dict(zip(found.begins, found.above, strict=True)), Decimal(0), list(times[:1])
    back: list[int] = []
    guessed: list[int] = []
    for index in range(1, len(times)):
        gap = times[index] - times[index - 1]
        if index in begins:
            unseen = _unseen_steps(found, index) if _restarts(found, index, begins[index]) else Decimal(0)
            if unseen:
                guessed.append(found.rows[index].line.number)
            offset = seconds[-1] - times[index] + _first_gap(times[index], begins[index], usual) + usual * unseen
        elif gap < 0:
            back.append(found.rows[index].line.number)
            offset += usual - gap
        seconds.append(times[index] + offset)
    if back:
        found.notes.append(
            f"its {name!r} steps back at line {', '.join(map(str, back[:6]))}: time goes on from there by "
            f"{usual:.6g} s, as usual between its rows"
        )
    if guessed:
        found.notes.append(
            f"steps are missing above line {', '.join(map(str, guessed[:6]))}, where it was resumed: their time is "
            "taken to be as usual"
        )
    return seconds


def _unseen_steps(found: Ordered, index: int) -> Decimal:
    """How many rows are missing before a session whose clock begins anew, by the steps between rows."""
    positions = found.positions
    if positions is None:
        return Decimal(0)
    gaps = sorted(after - before for before, after in pairwise(positions))
    usual = gaps[len(gaps) // 2]
    missing = (positions[index] - positions[index - 1]) / usual - 1
    return Decimal(int(missing)) if missing >= 1 else Decimal(0)


def _first_gap(time: Decimal, above: Moment | None, usual: Decimal) -> Decimal:
    """Seconds of training between the row before a session and the session's first row.

    A clock that begins anew tells them itself. Of one that goes on they are the distance to the row above, or the usual
    one where that is longer, since the time between sessions is no training.
    """
    gap = time - above.seconds if above else Decimal(0)
    most = _MOST_INTERVALS * usual
    if gap <= 0 and time < CLOCK_SECONDS:
        return time if time >= 0 and (time <= most or not usual) else usual
    return gap if 0 <= gap <= most else usual
