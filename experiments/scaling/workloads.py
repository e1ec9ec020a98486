"""What is trained where: networks, batch sizes, worker counts, and how many steps are timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.config import SAMPLES

CPU = "cpu"
# Assumed round prices, in dollars per worker and hour: a core, and a GPU with its share of the host.
PRICES = {CPU: 0.04, "gpu": 3.0}
_WARM_UP_ON_CPUS = 2  # steps of DDP before its clock starts, as the engine has


@dataclass(frozen=True)
class Workload:
    """A network on a data set: `weak` images per worker, and `strong` of all workers, each for its worker counts.

    Each setting takes `steps` steps with so many loss `points`; a time is known from one point to the next.
    """

    name: str
    model: str
    data: str
    weak: int = 64
    strong: int = 256
    weak_counts: tuple[int, ...] = (1, 2, 4, 8)
    strong_counts: tuple[int, ...] = (1, 2, 4, 8)
    rival_counts: tuple[int, ...] = (1, 2)
    steps: int = 3
    points: int = 3

    @property
    def samples(self) -> int:
        """Images of an epoch."""
        return SAMPLES[self.data]

    def settings(self, only: Sequence[int] | None = None) -> list[dict[str, int]]:
        """As `space.points` lists them; of the worker counts in `only` where these are given."""
        weak = [{"workers": count, "batch_size": self.weak} for count in self.weak_counts]
        strong = [{"workers": count, "global_batch_size": self.strong} for count in self.strong_counts]
        return [one for one in (*weak, *strong) if only is None or one["workers"] in only]


_RESNET_50 = Workload("resnet-50", "resnet-50", "fashion-mnist")
_RESNET_44 = Workload("resnet-44", "resnet-44", "fashion-mnist")
_LARGE = Workload("resnet-50-224", "resnet-50", "synthetic-224")
_ON_CPUS = (
    # Eight workers of 64 images would need some 20 GB.
    replace(_RESNET_50, weak_counts=(1, 2, 4)),
    replace(_RESNET_44, steps=10, points=10),
    replace(_LARGE, weak=8, strong=32),
)
_ON_GPUS = (
    replace(_RESNET_50, steps=200, points=20),
    replace(_RESNET_44, steps=400, points=20),
    replace(_LARGE, steps=100, points=20),
)
_SMALL = Workload("mlp", "mlp", "digits", 16, 64, (1, 2, 4), (1, 2, 4), rival_counts=(2,), steps=6, points=6)


def place_of(gpus: int) -> str:
    """The name of what ranks compute on, in names of sweeps: cores, where there are no GPUs."""
    return (CPU, "gpu")[gpus] if gpus < 2 else f"{gpus}-gpus"


def price_at(place: str) -> float:
    """Dollars per worker and hour."""
    return PRICES[CPU if place == CPU else "gpu"]


def workloads(gpus: int, *, quick: bool) -> tuple[Workload, ...]:
    """What is measured on so many GPUs, or on cores; on GPUs only worker counts that have one each."""
    if quick:
        return (_SMALL,)
    if not gpus:
        return _ON_CPUS
    counts = tuple(count for count in _LARGE.strong_counts if count <= gpus)
    return tuple(replace(one, weak_counts=counts, strong_counts=counts, rival_counts=counts) for one in _ON_GPUS)


def engine_settings(load: Workload, place: str) -> dict[str, Any]:
    """What `engine.yaml` is overridden by."""
    on_gpus = {"trial.device": "cuda", "trial.precision": "bf16", "trial.compile": True, "resources.gpus_per_worker": 1}
    return {
        "name": f"engine-{load.name}-{place}",
        "trial.model": load.model,
        "trial.data": load.data,
        "trial.steps": load.steps,
        "trial.points": load.points,
        "space.points": load.settings(),
        "resources.dollars_per_worker_hour": price_at(place),
        **({} if place == CPU else on_gpus),
    }


def rival_settings(load: Workload, place: str) -> dict[str, Any]:
    """What `ddp.yaml` is overridden by."""
    values = {name: getattr(load, name) for name in ("model", "data", "steps", "points")}
    # Compiling did not pay on cores in `against_ddp`.
    how = {"how": "eager", "precision": "tf32", "warm_up": _WARM_UP_ON_CPUS}
    if place != CPU:
        how = {"how": "compiled", "precision": "bf16", "warm_up": 15}
    return {
        "name": f"ddp-{load.name}-{place}",
        **{f"trial.values.{name}": value for name, value in {**values, **how}.items()},
        "space.points": load.settings(load.rival_counts),
        "resources.dollars_per_worker_hour": price_at(place),
        **({} if place == CPU else {"resources.gpus_per_worker": 1}),
    }
