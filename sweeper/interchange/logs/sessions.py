"""Logs of runs that were resumed, written twice, or written newest first: put in order, or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from sweeper.interchange.logs.base import Ignored
from sweeper.interchange.logs.rows import Row, finite_or_none
from sweeper.interchange.logs.times import Moment


class TwoRunsError(Exception):
    """A file may hold several runs; the text says where the second one seems to begin."""


@dataclass
class Ordered:
    """Rows in the order of training, with their positions: steps that rise, or None where nothing counts them.

    `begins` are the indexes of rows at which a session begins, but for the first, and `above` the time of the row that
    stands above each of these in the file; `left_out` are rows that another one stands for; `notes` tell what was
    done, in a sentence each.
    """

    rows: list[Row]
    positions: list[float] | None
    begins: list[int] = field(default_factory=list)
    above: list[Moment | None] = field(default_factory=list)
    left_out: list[Ignored] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def split_sessions(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each session of a file, as runs of their own."""
    rows = list(rows)
    if times := _interleaved(rows):
        return [rows[number::times] for number in range(times)]
    positions = _positions(rows)
    begins = _begins(rows, positions, _clock_restarts(rows))
    return [rows[begin:end] for begin, end in pairwise([0, *begins, len(rows)])]


def in_order(rows: Sequence[Row], *, join: bool = False) -> Ordered:
    """The rows of one run in the order of training.

    A run that was resumed has steps that go back, a header within its rows, or a clock that begins again: its later
    steps replace earlier ones. Rows that stand twice count once. A file written newest first is turned round, and lines
    that stand a little out of order by their steps are sorted.

    Raises:
        TwoRunsError: a later session begins where the first one does, or nothing tells where it goes on. With `join`
            it is taken for the same run.
    """
    found = Ordered(list(rows), None)
    _leave_out_copies(found)
    _turn_round(found)
    found.positions = _positions(found.rows)
    if (
        found.positions is not None
        and found.positions != [row.step for row in found.rows]
        and found.rows[0].step is not None
    ):
        length = _steps_of_epoch(found.rows)
        found.notes.append(f"its steps begin anew in each epoch: they are counted on, an epoch as {length:.10g} steps")
    if not join and (times := _interleaved(found.rows)):
        raise TwoRunsError(f"each step stands {times} times, with other values, first in line {rows[1].line.number}")
    _sort(found)
    found.begins = _begins(found.rows, found.positions, _clock_restarts(found.rows))
    if found.begins:
        _join(found, join=join)
    return found


def _interleaved(rows: Sequence[Row]) -> int:
    """How many times each step stands, one below the other, as where several ranks write; 0 where they do not."""
    steps = [finite_or_none(row.step) for row in rows]
    times = next((count for count in range(2, _MOST_WRITERS + 1) if steps[:count] != steps[:1] * count), 0) - 1
    if times < 2 or len(rows) % times or len(rows) < 2 * times or None in steps:
        return 0
    groups = [steps[begin : begin + times] for begin in range(0, len(steps), times)]
    alike = all(len(set(group)) == 1 for group in groups)
    return times if alike and len({group[0] for group in groups}) == len(groups) else 0


_MOST_WRITERS = 9


def _leave_out_copies(found: Ordered) -> None:
    """Rows that say the same of the same step as an earlier one, and whole files that stand in themselves twice."""
    seen: dict[object, Row] = {}
    kept: list[Row] = []
    for row in found.rows:
        counted = finite_or_none(row.step) is not None or (finite_or_none(row.epoch) is not None and row.time)
        key = _content(row) if counted else object()  # without a step, equal rows may be two
        if key in seen:
            found.left_out.append(Ignored(row.line, f"says the same as line {seen[key].line.number}"))
        else:
            seen[key] = row
            kept.append(row)
    half = len(kept) // 2
    if (
        half > 1
        and len(kept) == 2 * half
        and all(_content(a) == _content(b) for a, b in zip(kept, kept[half:], strict=False))
    ):
        found.left_out += [
            Ignored(b.line, f"says the same as line {a.line.number}") for a, b in zip(kept, kept[half:], strict=False)
        ]
        kept = kept[:half]
    found.rows = kept
    if found.left_out:
        found.notes.append(f"{_lines(found.left_out)} stand twice in the file and count once")


def _content(row: Row) -> object:
    return (repr(row.loss), row.time, row.step, row.epoch, row.images)


def _turn_round(found: Ordered) -> None:
    rows = found.rows
    steps = [_known(row) for row in rows]
    times = [row.time.seconds for row in rows if row.time]
    falls = _all_fall(steps) if None not in steps else len(times) > 2 and _all_fall(times)
    if len(rows) > 1 and falls and (len(rows) > 2 or not times or _all_fall(times)):
        found.rows = rows[::-1]
        found.notes.append("it is written newest first, and was turned round")


def _known(row: Row) -> float | None:
    step = finite_or_none(row.step)
    return step if step is not None else finite_or_none(row.epoch)


def _all_fall(values: Sequence[object]) -> bool:
    return all(after < before for before, after in pairwise(values))  # type: ignore[operator]


def _positions(rows: Sequence[Row]) -> list[float] | None:
    """A number for each row that counts its steps: the step, within its epoch where it begins anew in each; the epoch.

    None where rows do not have one, or where several rows in a row have the same.
    """
    steps, epochs = [finite_or_none(row.step) for row in rows], [finite_or_none(row.epoch) for row in rows]
    if None not in steps:
        known = [step for step in steps if step is not None]
        return _within_epochs(known, epochs, rows) or _told_apart(known)
    return _told_apart([epoch for epoch in epochs if epoch is not None]) if None not in epochs and rows else None


def _told_apart(values: list[float]) -> list[float] | None:
    """The values, unless many neighbours have the same one."""
    same = sum(before == after for before, after in pairwise(values))
    return values if not same or (len(values) > 4 and same <= max(1, len(values) // 10)) else None


def _within_epochs(steps: list[float], epochs: list[float | None], rows: Sequence[Row]) -> list[float] | None:
    """Steps counted on from epoch to epoch, where the steps of each epoch begin anew; else None.

    An epoch counts as many steps as its lines say, or as the highest that is written of any.
    """
    known = [epoch for epoch in epochs if epoch is not None and epoch == int(epoch)]
    if len(known) != len(steps):
        return None
    pairs = list(zip(known, steps, strict=True))
    rises = [(before, after) for before, after in pairwise(pairs) if after[0] > before[0]]
    if not rises or not all(after[1] <= before[1] for before, after in rises):
        return None
    length = _steps_of_epoch(rows)
    return [(epoch - min(known)) * length + step for epoch, step in pairs]


def _steps_of_epoch(rows: Sequence[Row]) -> float:
    said = {row.of for row in rows}
    steps = [row.step or 0.0 for row in rows]
    if len(said) == 1 and (of := said.pop()) is not None and of >= max(steps):
        return of
    return max(steps) + (min(steps) == 0)  # those that begin at zero end one before their number


def _sort(found: Ordered) -> None:
    """Put rows in the order of their steps, where that puts their times in order, too."""
    rows, positions = found.rows, found.positions
    if positions is None or len(set(positions)) != len(positions):
        return
    if any(row.part != rows[0].part for row in rows) and not found.left_out:
        return
    order = sorted(range(len(rows)), key=positions.__getitem__)
    times = [rows[index].time for index in order]
    moved = [index for index, place in enumerate(order) if index != place]
    known = [time.seconds for time in times if time]
    if moved and all(before <= after for before, after in pairwise(known)):
        found.rows, found.positions = [replace(rows[index], part=0) for index in order], sorted(positions)
        found.notes.append(f"{len(moved)} lines are not in the order of their steps, and were sorted")


def _clock_restarts(rows: Sequence[Row]) -> Callable[[int], bool]:
    """Whether the clock of rows begins anew, near zero, at an index: few do, and times rise between them."""
    times = [row.time.seconds for row in rows if row.time and not row.time.absolute]
    if len(times) != len(rows):
        return lambda _: False
    falls = [index for index in range(1, len(times)) if times[index] < times[index - 1]]
    rises = sorted(after - before for before, after in pairwise(times) if after > before)
    if not falls or not rises or len(falls) * 3 > len(times) - 1:
        return lambda _: False
    usual = rises[len(rises) // 2]
    restarts = {index for index in falls if times[index] <= 3 * usual and times[index] < times[index - 1] / 2 + usual}
    return restarts.__contains__


def _begins(rows: Sequence[Row], positions: list[float] | None, restarts: Callable[[int], bool]) -> list[int]:
    """The indexes at which a session begins: at a new header, an earlier step, or a clock that begins anew."""
    epochs = [finite_or_none(row.epoch) for row in rows]

    def goes_back(index: int) -> bool:
        if positions is not None:
            return positions[index] <= positions[index - 1]
        before, after = epochs[index - 1], epochs[index]
        return before is not None and after is not None and after < before

    return [
        index
        for index in range(1, len(rows))
        if rows[index].part != rows[index - 1].part or goes_back(index) or restarts(index)
    ]


def _join(found: Ordered, *, join: bool) -> None:
    """Let later sessions replace the steps of earlier ones."""
    rows, positions = found.rows, found.positions
    kept: list[int] = list(range(found.begins[0]))
    begins: list[tuple[int, Moment | None]] = []
    replaced: list[Ignored] = []
    for begin, end in pairwise([*found.begins, len(rows)]):
        if not join and (positions is None or positions[begin] <= positions[0]):
            raise TwoRunsError(_why(rows, begin, known=positions is not None))
        while positions is not None and kept and positions[kept[-1]] >= positions[begin]:
            old = kept.pop()
            replaced.append(Ignored(rows[old].line, f"the run went back before it in line {rows[begin].line.number}"))
        begins = [one for one in begins if one[0] < len(kept)]
        if kept:
            begins.append((len(kept), rows[begin - 1].time))
        kept += range(begin, end)
    numbers = ", ".join(str(rows[begin].line.number) for begin in found.begins[:5])
    found.notes.append(
        f"it was resumed at line {numbers}{', …' if len(found.begins) > 5 else ''}: its parts are joined"
    )
    if replaced:
        replaced.sort(key=lambda one: one.line.number)
        found.left_out += replaced
        verb = "is" if len(replaced) == 1 else "are"
        found.notes.append(f"{_lines(replaced)} {verb} replaced: the run went back to an earlier step")
    found.rows = [rows[index] for index in kept]
    found.positions = [positions[index] for index in kept] if positions is not None else None
    found.begins, found.above = [index for index, _ in begins], [time for _, time in begins]


def _why(rows: Sequence[Row], begin: int, *, known: bool) -> str:
    row = rows[begin]
    if known:
        return f"line {row.line.number} begins again at step {row.step if row.step is not None else row.epoch:.10g}"
    what = "a second header stands above it" if row.part != rows[begin - 1].part else "its clock begins again"
    return f"{what}: line {row.line.number} may begin another run"


def _lines(items: Sequence[Ignored]) -> str:
    numbers = [item.line.number for item in items]
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"lines {numbers[0]} to {numbers[-1]}"
    shown = ", ".join(map(str, numbers[:6]))
    return f"lines {shown}" + (f" and {len(numbers) - 6} more" if len(numbers) > 6 else "")
