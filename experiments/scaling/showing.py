"""Tables and figures of the study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dashboards.figures.scaling.rows import ScalingRow
from dashboards.figures.words.numbers import measure
from experiments.intervals import with_interval
from experiments.scaling.measures import KINDS, Scaled, read_all
from experiments.scaling.workloads import CPU, price_at
from experiments.study import Study

_SPEEDS = ["ranks on", "network", "scaling", "workers", "global batch", "steps", "images/s", "step, s", "speed-up"]
_SPEEDS += ["efficiency", "DDP: images/s", "the engine's images/s over DDP's"]
_EPOCHS = ["ranks on", "network", "scaling", "workers", "epoch, s", "ideal, s", "cost, $", "DDP: epoch, s"]
_EPOCHS += ["DDP: cost, $"]
_FORECASTS = ["ranks on", "network", "scaling", "workers", "predicted step, s", "images/s", "epoch, s", "cost, $"]
_FORECASTS += ["measured step, s", "measured over predicted"]
_NONE = "–"


def show(study: Study) -> None:
    """Make all of them."""
    from dashboards.figures.scaling.drawing import draw_scaling

    found = read_all(study)
    study.table("speeds", _SPEEDS, [row for one in found for row in _speeds(one)])
    study.table("epochs", _EPOCHS, [row for one in found for row in _epochs(one)])
    study.table("forecasts", _FORECASTS, [row for one in found for row in _forecasts(one)])
    study.table("hardware", ["ranks on", "hardware", "$ per worker and hour", "versions"], _hardware(study, found))
    for one in found:
        study.figure(f"{one.place}-{one.network}", draw_scaling(one.table))


def place_name(place: str) -> str:
    """As people read it."""
    return "CPU" if place == CPU else place.replace("-gpus", " GPUs").replace("gpu", "GPU")


def _counted(scaled: Scaled) -> Iterator[tuple[str, int, ScalingRow | None, ScalingRow | None]]:
    """Kind and workers of each line, with what the engine and DDP have there."""
    for kind in KINDS:
        ours, theirs = (scaled.rows(kind, engine=engine) for engine in (True, False))
        for workers in sorted(ours.keys() | theirs.keys()):
            yield kind, workers, ours.get(workers), theirs.get(workers)


def _head(scaled: Scaled, kind: str, workers: int, *rows: ScalingRow | None) -> list[object]:
    shared = any(row.oversubscribed for row in rows if row)
    return [place_name(scaled.place), scaled.network, kind, f"{workers}*" if shared else str(workers)]


def _speeds(scaled: Scaled) -> Iterator[list[object]]:
    for kind, workers, ours, theirs in _counted(scaled):
        batch = scaled.global_batch(kind, workers)
        step, steps = _NONE, _NONE
        if ours and ours.throughput:
            step, steps = measure(batch / ours.throughput), f"{scaled.steps_of(kind, workers, engine=True).steps}"
        yield [
            *_head(scaled, kind, workers, ours, theirs),
            batch,
            steps,
            _images(scaled, kind, ours, engine=True),
            step,
            f"{ours.speedup:.2f}" if ours and ours.speedup else _NONE,
            f"{ours.efficiency:.0%}" if ours and ours.efficiency else _NONE,
            _images(scaled, kind, theirs, engine=False),
            _ratio(ours.throughput, theirs.throughput) if ours and theirs else _NONE,
        ]


def _images(scaled: Scaled, kind: str, row: ScalingRow | None, *, engine: bool) -> str:
    if row is None or row.throughput is None:
        return _NONE
    return f"{measure(row.throughput)} ± {scaled.steps_of(kind, row.workers, engine=engine).spread:.0f} %"


def _ratio(one: float | None, other: float | None) -> str:
    return f"{one / other:.2f}" if one and other else _NONE


def _epochs(scaled: Scaled) -> Iterator[list[object]]:
    for kind, workers, ours, theirs in _counted(scaled):
        base = next(iter(scaled.rows(kind, engine=True).values()), None)
        ideal = base.seconds * base.workers / workers if base and base.seconds else None
        times = [
            _measured(one) for row in (ours, theirs) for one in ((row.seconds, row.dollars) if row else (None,) * 2)
        ]
        yield [*_head(scaled, kind, workers, ours, theirs), times[0], _measured(ideal), *times[1:]]


def _forecasts(scaled: Scaled) -> Iterator[list[object]]:
    for (kind, workers), times in sorted(scaled.forecasts.items(), key=lambda one: (KINDS.index(one[0][0]), one[0][1])):
        row = scaled.rows(kind, engine=True).get(workers)
        batch, rate = scaled.global_batch(kind, workers), times.images_per_second.value
        epoch = scaled.samples / rate
        step = batch / row.throughput if row and row.throughput else None
        yield [
            *_head(scaled, kind, workers, row),
            with_interval(times.step_seconds.value, times.step_seconds.interval, measure),
            measure(rate),
            measure(epoch),
            measure(epoch * workers * price_at(scaled.place) / 3600),
            _measured(step),
            _ratio(step, times.step_seconds.value),
        ]


def _measured(value: float | None) -> str:
    return _NONE if value is None else measure(value)


def _hardware(study: Study, found: Sequence[Scaled]) -> list[list[object]]:
    rows: list[list[object]] = []
    for place in dict.fromkeys(one.place for one in found):
        (machine,) = study.measured(f"machine-{place}")
        used = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
        rows.append([place_name(place), machine["hardware"], f"{price_at(place):.2f}", used])
    return rows
