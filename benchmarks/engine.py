"""The engine: images a second beside DistributedDataParallel, on GPUs where there are some, and on two cores."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from mpi4py import MPI

from benchmarks.measure import RivalError, Row, alone, arguments, compare, report, versions
from engine.config import TrainingConfig
from engine.phases import Phases
from engine.precision import cpu_multiplies_bf16
from engine.protocol import OFF_THE_CLOCK, Ended
from engine.run import Run
from engine.trainer import train
from sweeper.gangs.base import Job
from sweeper.gangs.gang import Gang
from sweeper.gangs.launcher import find_launcher

BATCH_SIZE = 128
GPU_SETTINGS = [(16, "tf32"), (64, "tf32"), (128, "tf32"), (512, "bf16")]
GPU_STEPS = 4000


def ours(ranks: int, images: int, batch_size: int, gpus: Sequence[str] = (), **settings: Any) -> float:
    """Images a second of alexnet-cifar on synthetic pictures, by the engine's own clock."""
    ended = trained(ranks, images, batch_size, gpus, **settings)
    return ended.images / ended.seconds


def trained(ranks: int, images: int, batch_size: int, gpus: Sequence[str] = (), **settings: Any) -> Ended:
    """The end of such a run."""
    config = TrainingConfig.model_validate(
        {
            "data": "synthetic",
            "images": images,
            "batch_size": batch_size,
            "learning_rate": 0.01,
            "momentum": 0.9,
            "weight_decay": 0.004,
            **settings,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "gang.log"
        job = Job("benchmark", 1, ranks, 1, 1 if gpus else 0, config.model_dump(mode="json"), str(log))
        gang = Gang(replace(job, gpus=tuple(gpus)))
        ended = [happened.event for happened in gang.run(job)][-1]
        gang.close()
        if not isinstance(ended, Ended):
            raise SystemExit(f"the gang failed: {ended}\n{log.read_text()}")
    return ended


def ddp(
    ranks: int, images: int, batch_size: int, gpus: Sequence[str] = (), options: Sequence[str] = (), tuned: bool = False
) -> float:
    """The same by DistributedDataParallel as people write it; `tuned` gives it our gangs' settings of glibc."""
    launcher = find_launcher()
    program = [sys.executable, "-m", "mpi4py", "-m", "benchmarks.ddp", *(["--gpu"] if gpus else []), *options]
    command = launcher.command(ranks, [*program, "--images", str(images), "--batch-size", str(batch_size)])
    given = launcher.environment(os.environ, 1, gpus)
    environment = {name: value for name, value in given.items() if tuned or not name.startswith("MALLOC_")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    try:
        return float(done.stdout)  # some builds of torch abort at the end of the process group, after all is said
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise RivalError(f"died with exit code {done.returncode}: {last}") from None


def on_cpu(quick: bool, n: int) -> Iterator[Row]:
    """Two ranks of one thread: the exchanges, and bfloat16 where the processor has it, beside DDP in float32."""
    images = 2560 if quick else 12_800
    plain, tuned = partial(ddp, 2, images, BATCH_SIZE), partial(ddp, 2, images, BATCH_SIZE, (), ["--channels-last"])
    as_written, same_settings = ("DDP over gloo", plain), ("DDP, our settings", partial(tuned, tuned=True))
    kinds: list[tuple[str, dict[str, Any], tuple[str, Callable[[], float]]]] = [
        ("all-reduce, gradients", {}, as_written),
        ("all-reduce, gradients", {}, same_settings),
        ("parameter-server, gradients", {"exchange": "parameter-server"}, as_written),
        ("parameter-server, weights", {"exchange": {"method": "parameter-server", "average": "weights"}}, as_written),
    ]
    if cpu_multiplies_bf16():
        kinds.append(("all-reduce, gradients, bf16", {"precision": "bf16"}, as_written))
    for name, settings, (baseline, theirs) in kinds[:1] if quick else kinds:
        yield compare(
            f"{name}, 2 ranks x 1 thread, batch {BATCH_SIZE}",
            "images/s",
            partial(ours, 2, images, BATCH_SIZE, **settings),
            baseline,
            theirs,
            n,
            versions("torch", "mpi4py"),
        )


def reporting(n: int) -> Iterator[Row]:
    """What 300 loss points cost: the time in them, as a part of the training."""
    yield alone(
        f"300 loss points of 300 steps, 2 ranks x 1 thread, batch {BATCH_SIZE}",
        "% of training",
        lambda: 100 * report_share(trained(2, 2 * 300 * BATCH_SIZE, BATCH_SIZE)),
        n,
        versions("torch", "mpi4py"),
    )


def phases_together(quick: bool, n: int) -> Iterator[Row]:
    """The phases of a trial together, as a part of its seconds: on the CPU, and on a GPU captured and not."""
    images = 2560 if quick else 12_800
    methods = {1: ["all-reduce"], 2: ["all-reduce", "parameter-server", "ring"]}
    for ranks, phases in [(1, "coarse"), (2, "detailed")] if quick else product(methods, ("coarse", "detailed")):
        for method in methods[ranks]:
            words = f"{ranks} rank{'s'[: ranks - 1]} x 1 thread, {method}"
            settings = {"exchange": method, "phases": phases}
            yield _together(phases, words, partial(trained, ranks, ranks * images, BATCH_SIZE, **settings), n)
    if torch.cuda.is_available():
        for captured, phases in product((True, False), ("coarse", "detailed")):
            words = f"{torch.cuda.get_device_name()}, {'captured' if captured else 'not captured'}"
            steps = (500 if quick else GPU_STEPS) // (1 if captured else 10)
            yield _together(phases, words, partial(_trained_here, steps, phases, captured=captured), n)


def _together(phases: str, words: str, train_one: Callable[[], Ended], n: int) -> Row:
    name = f"phases together, {phases}, {words}, batch {BATCH_SIZE}"
    return alone(name, "% of seconds", lambda: 100 * counted_share(train_one()), n, versions("torch", "mpi4py"))


def counted_share(ended: Ended) -> float:
    """The part of the training time that lies in some phase."""
    return sum(seconds for name, seconds in ended.phases.items() if name not in OFF_THE_CLOCK) / ended.seconds


def cost_of_phases(quick: bool, n: int) -> Iterator[Row]:
    """Images a second with the phases told apart finely, coarsely, and not at all."""
    gpu = torch.cuda.is_available()
    steps = (500 if quick else GPU_STEPS) if gpu else (20 if quick else 100)
    where = f"{torch.cuda.get_device_name()}, 1 rank" if gpu else "1 rank x 1 thread"
    for phases in ("coarse", "detailed"):
        yield compare(
            f"{phases} phases, {where}, batch {BATCH_SIZE}",
            "images/s",
            partial(_rate, steps, phases),
            "no phases",
            partial(_rate, steps, "none"),
            n,
            versions("torch", "mpi4py"),
        )
    if not gpu:
        for method in ("all-reduce", "parameter-server"):
            run = partial(ours, 2, 2 * steps * BATCH_SIZE, BATCH_SIZE, exchange=method)
            yield compare(
                f"detailed phases, 2 ranks x 1 thread, {method}, batch {BATCH_SIZE}",
                "images/s",
                partial(run, phases="detailed"),
                "coarse phases",
                run,
                n,
                versions("torch", "mpi4py"),
            )


def _rate(steps: int, phases: str) -> float:
    ended = _trained_here(steps, phases)
    return ended.images / ended.seconds


def _trained_here(steps: int, phases: str, *, captured: bool = True) -> Ended:
    """A trial of one rank in this process, where steps can be kept from being captured, and phases be left out."""
    torch.set_num_threads(1)
    config = TrainingConfig.model_validate(
        {
            "data": "synthetic",
            "images": steps * BATCH_SIZE,
            "batch_size": BATCH_SIZE,
            "learning_rate": 0.01,
            "momentum": 0.9,
            "phases": "coarse" if phases == "none" else phases,
        }
    )
    events: list[Any] = []
    with ExitStack() as changes:
        if not captured:
            changes.enter_context(mock.patch.object(Run, "_make_captured", return_value=None))
        if phases == "none":
            changes.enter_context(mock.patch.object(Phases, "enter", _enter_nothing))
        train("benchmark", config, MPI.COMM_SELF, events.append)
    ended = events[-1]
    assert isinstance(ended, Ended)
    return ended


def _enter_nothing(phases: Phases, name: str) -> None:
    """`Phases.enter` without a mark; a step is captured in its parts all the same, since these are the work."""
    if phases._cut:
        phases._cut(phases._merged.get(name, name))


def report_share(ended: Ended) -> float:
    """The part of the training time that went into loss points."""
    return ended.phases["report"] / ended.seconds


def on_gpu(quick: bool, n: int) -> Iterator[Row]:
    """One rank a GPU against DDP with resident data, eager and compiled, at several batch sizes."""
    gpus = torch.cuda.device_count()
    name = torch.cuda.get_device_name()
    for ranks in [1] if quick else [count for count in (1, 2, 4) if count <= gpus]:
        devices = [str(number) for number in range(ranks)]
        for batch_size, precision in GPU_SETTINGS[:1] if quick else GPU_SETTINGS:
            images = ranks * batch_size * (500 if quick else GPU_STEPS)
            bf16 = ["--bf16"] if precision == "bf16" else []
            for baseline, options in {"eager DDP": bf16, "compiled DDP": [*bf16, "--compile"]}.items():
                yield compare(
                    f"{name}, {ranks} x batch {batch_size}, {precision}",
                    "images/s",
                    partial(ours, ranks, images, batch_size, devices, precision=precision),
                    baseline,
                    partial(ddp, ranks, images, batch_size, devices, options),
                    n,
                    versions("torch", "mpi4py"),
                )


def main() -> None:
    """Measure and report."""
    given = arguments(__doc__ or "")
    gpu = on_gpu(given.quick, 1 if given.quick else 3) if torch.cuda.is_available() else ()
    n = 1 if given.quick else 5
    phases = chain(phases_together(given.quick, 1 if given.quick else 3), cost_of_phases(given.quick, n))
    report(chain(gpu, on_cpu(given.quick, n), () if given.quick else reporting(3), phases), given.json)


if __name__ == "__main__":
    main()
