"""Tables and figures of the study."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from dashboards.figures.words.numbers import measure
from experiments.all_reduce.speed import Speed, speed_of
from experiments.study import Study
from sweeper.plan.trial import TrialState
from sweeper.store import Store, TrialRecord

BAR_BYTES = 16 << 20
RING, BY_MPI = "ring", "all-reduce"
_SHOWN = tuple(1 << power for power in (10, 16, 20, 24, 26, 30))
_PLACES = {"cpu": "CPU", "hosts": "two hosts, 1 Gbit/s"}
_UNITS = ("B", "KiB", "MiB", "GiB")
_TRAINING = re.compile(r"training-(cpu|\d+-gpus)(-nccl)?")


@dataclass(frozen=True)
class Pace:
    """Images a second of training by a method at a place, one for each run."""

    place: str
    model: str
    workers: int
    method: str
    runs: tuple[float, ...]

    @property
    def images(self) -> float:
        """The median of the runs."""
        return median(self.runs)


def show(study: Study) -> None:
    """Make all of them."""
    from experiments.all_reduce.drawing import draw_bandwidths

    found = speeds(study)
    study.table("speeds", *_by_size(found))
    study.table("ring", *_ring(found))
    study.table("training", *_training(paces(study)))
    study.table("hardware", *_hardware(study, found))
    for place in dict.fromkeys(speed.place for speed in found):
        here = [speed for speed in found if speed.place == place]
        study.figure(f"bandwidth-{place}", draw_bandwidths(place_name(place), here))


def speeds(study: Study) -> list[Speed]:
    """All that are recorded: on cores, over hosts, then on GPUs by their number."""
    recorded = {path.stem for path in (study.into / "result").glob("*.json")}
    places = [place for place in _PLACES if place in recorded]
    places += sorted(recorded - _PLACES.keys(), key=lambda place: int(place.partition("-")[0]))
    return [speed_of(place, row) for place in places for row in study.measured(place)]


def paces(study: Study) -> list[Pace]:
    """Of completed trials, in the order of places, models and methods."""
    if not study.has_sweeps:
        return []
    with study.reading() as store:
        return [
            pace
            for sweep in store.sweeps.all()
            if (found := _TRAINING.fullmatch(sweep.name))
            for pace in _of_sweep(store, sweep.id, found[1])
        ]


def _of_sweep(store: Store, sweep: str, place: str) -> Iterator[Pace]:
    alike: dict[tuple[str, int, str], list[TrialRecord]] = {}
    for trial in store.trials.of(sweep, [TrialState.COMPLETED]):
        how = trial.config["exchange"]
        algorithm = how.get("algorithm", "auto")
        method = how["method"] if algorithm == "auto" else f"{how['method']}-{algorithm}"
        alike.setdefault((trial.config["model"], trial.workers, method), []).append(trial)
    for (model, workers, method), trials in alike.items():
        yield Pace(place, model, workers, method, tuple((t.images or 0) / (t.seconds or 1.0) for t in trials))


def place_name(place: str) -> str:
    """As people read it."""
    return _PLACES.get(place, place.replace("-gpus", " GPUs"))


def size_name(size: int) -> str:
    """Bytes in the largest binary unit that they are a multiple of."""
    step = max(place for place in range(len(_UNITS)) if size % (1 << 10 * place) == 0)
    return f"{size >> 10 * step} {_UNITS[step]}"


def duration(seconds: float) -> str:
    """Seconds in a unit that fits, with three digits."""
    unit, factor = next((one for one in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)) if seconds * one[1] >= 1), ("µs", 1e6))
    return f"{seconds * factor:.3g} {unit}"


def _count(speed: Speed) -> str:
    return f"{speed.workers}*" if speed.shared else str(speed.workers)


def _by_size(found: Sequence[Speed]) -> tuple[list[str], list[list[str]]]:
    methods = list(dict.fromkeys(speed.method for speed in found))
    rows: dict[tuple[str, str, int], dict[str, Speed]] = {}
    for speed in found:
        if speed.size in _SHOWN:
            rows.setdefault((speed.place, _count(speed), speed.size), {})[speed.method] = speed
    lines = [
        [place_name(place), count, size_name(size), *(_both(by.get(method)) for method in methods)]
        for (place, count, size), by in rows.items()
    ]
    return ["ranks on", "ranks", "message", *methods], lines


def _both(speed: Speed | None) -> str:
    return f"{duration(speed.seconds)}, {speed.bus_bandwidth / 1e9:.2g} GB/s" if speed else "–"


def _ring(found: Sequence[Speed]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for ring in found:
        theirs = next((one for one in found if _beside(one, ring)), None)
        if ring.method == RING and ring.size == BAR_BYTES and theirs:
            ratio = theirs.seconds / ring.seconds
            rows.append([place_name(ring.place), _count(ring), _spread(ring), _spread(theirs), f"{ratio:.2f}"])
    return ["ranks on", "ranks", "ring", "MPI's own", "ring's speed over MPI's"], rows


def _beside(one: Speed, ring: Speed) -> bool:
    return (one.method, one.place, one.workers, one.size) == (BY_MPI, ring.place, ring.workers, ring.size)


def _spread(speed: Speed) -> str:
    half = 50 * (max(speed.rounds) - min(speed.rounds)) / speed.seconds
    return f"{duration(speed.seconds)} ± {half:.0f} %"


def _training(found: Sequence[Pace]) -> tuple[list[str], list[list[str]]]:
    methods = list(dict.fromkeys(pace.method for pace in found))
    rows: dict[tuple[str, int, str], dict[str, Pace]] = {}
    for pace in found:
        rows.setdefault((pace.place, pace.workers, pace.model), {})[pace.method] = pace
    lines = [
        [place_name(place), str(workers), model, *(_images(by.get(method)) for method in methods), fastest(by)]
        for (place, workers, model), by in rows.items()
    ]
    return ["ranks on", "ranks", "network", *methods, "fastest"], lines


def _images(pace: Pace | None) -> str:
    if pace is None:
        return "–"
    return f"{measure(pace.images)} ± {50 * (max(pace.runs) - min(pace.runs)) / pace.images:.0f} %"


def fastest(by: dict[str, Pace]) -> str:
    """The method with the most images a second."""
    return max(by.values(), key=lambda pace: pace.images).method


def _hardware(study: Study, found: Sequence[Speed]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for place in dict.fromkeys(speed.place for speed in found):
        measured = study.measured(place)
        device = f"{measured[0]['device']}; " if "gpu" in place else ""
        used = ", ".join(f"{name} {version}" for name, version in measured[0]["versions"].items())
        rounds = str(len(measured[0]["rounds"]))
        rows.append([place_name(place), f"{device}{measured[0]['hardware']}", rounds, used])
    return ["ranks on", "hardware", "rounds of each figure", "versions"], rows
