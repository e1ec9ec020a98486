"""Logs made at random: each point is recovered exactly, the file is refused, or the loss of a point is told."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from sweeper.errors import LogFormatError
from sweeper.interchange import LossLog, read_logs
from tests.sweeper.interchange.logs.generated import GeneratedLog, Point, logs

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def read(generated: GeneratedLog) -> LossLog | None:
    """The curve in a log; None where it was refused, which only some may be."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.log"
        path.write_bytes(generated.data)
        try:
            (found,) = read_logs(path)
        except LogFormatError as error:
            refusal = error
        else:
            return found
    assert refusal.remedy
    assert not generated.must_be_read, f"{generated.what}: {refusal.message}"
    return None


def check(generated: GeneratedLog) -> None:
    found = read(generated)
    if found is None:
        return
    known = {step: at for step, at, _ in generated.points}
    zero = found.seconds[0] if found.seconds else None
    begin = known.get(found.points[0].step)
    curve: list[Point] = []
    for index, point in enumerate(found.points):
        at = None if not found.seconds or zero is None else found.seconds[index] - zero
        curve.append((point.step, at, point.loss))
    expected = [
        (step, None if at is None or begin is None else at - begin, loss) for step, at, loss in generated.points
    ]
    told = {item.line.number for item in (*found.ignored, *found.left_out)}
    missing = {line: point for line, point in generated.lines.items() if line in told}
    whole = [point for point in expected if point in curve]
    assert not set(curve) - set(expected), f"{generated.what}: {set(curve) - set(expected)} are not points of it"
    assert len(curve) == len(whole), generated.what
    absent = {point[0] for point in expected if point not in curve}
    accounted = {point[0] for point in missing.values()}
    read_lines = generated.data.count(b"\n") + 1
    cut = {
        point[0]
        for line, point in generated.lines.items()
        if line > read_lines or (line == read_lines and b"cut" in generated.what.encode())
    }
    assert absent <= accounted | cut, f"{generated.what}: steps {absent - accounted - cut} went without a word"


@settings(max_examples=200, deadline=None, suppress_health_check=_SLOW)
@given(logs())
def test_every_point_is_recovered_refused_or_accounted_for(generated: GeneratedLog) -> None:
    check(generated)


@pytest.mark.long
@settings(max_examples=5000, deadline=None, suppress_health_check=_SLOW)
@given(logs())
def test_every_point_of_thousands_of_logs(generated: GeneratedLog) -> None:
    check(generated)
