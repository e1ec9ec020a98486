"""Checkpoints: what a rank needs to go on from a loss point, and what it had reported until then."""

from __future__ import annotations

import json
import logging
import os
import pickle
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from mpi4py import MPI

from engine.protocol import Evaluated, Point

logger = logging.getLogger(__name__)

_LATEST = "latest.json"
Report = Point | Evaluated
_REPORTS: dict[str, type[Report]] = {Point.kind: Point, Evaluated.kind: Evaluated}


@dataclass(frozen=True)
class Moment:
    """Where a run stands at a loss point: steps done, seconds and phases of training, all that was reported."""

    step: int
    seconds: float
    reports: tuple[Report, ...] = ()
    phases: dict[str, float] = field(default_factory=dict)


class Checkpoints:
    """The checkpoints of one trial in a folder, one for all ranks or one a host; the latest complete one is kept.

    A file a rank holds that rank's state; `latest.json`, written last and by rank 0, makes them a checkpoint. Whatever
    interrupts the writing leaves the one before.
    """

    def __init__(self, folder: Path, comm: MPI.Comm, digest: str) -> None:
        self._folder, self._comm, self._digest = folder, comm, digest
        self._before = folder  # where this rank's state of the checkpoint before is

    def save(self, moment: Moment, state: dict[str, Any]) -> None:
        """Keep `state`, which differs by rank, as of `moment`, of which rank 0's counts. Collective.

        Raises:
            OSError: the folder cannot be written.
        """
        folder = self._at(moment.step)
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / self._mine, lambda path: torch.save(state, path))
        self._comm.Barrier()
        if self._comm.rank == 0:
            reports = [{"kind": report.kind, **asdict(report)} for report in moment.reports]
            content = {
                "digest": self._digest,
                "step": moment.step,
                "seconds": moment.seconds,
                "reports": reports,
                "phases": moment.phases,
            }
            _write(self._folder / _LATEST, lambda path: path.write_text(json.dumps(content)))
        # On a host of its own no rank but 0 knows when the note is written.
        kept = {folder} if self._comm.rank == 0 else {folder, self._before}
        for other in set(self._folder.glob("step-*")) - kept:
            shutil.rmtree(other, ignore_errors=True)
        self._before = folder

    def load(self, device: torch.device) -> tuple[Moment, dict[str, Any]] | None:
        """The latest checkpoint, the moment as rank 0 has it; None where there is none that fits. Collective."""
        moment = self._comm.bcast(self._read_latest() if self._comm.rank == 0 else None)
        state = None if moment is None else self._read_state(moment.step, device)
        self._before = self._folder if moment is None else self._at(moment.step)
        everywhere: bool = self._comm.allreduce(state is not None, MPI.LAND)
        return (moment, state) if everywhere and moment is not None and state is not None else None

    def remove(self) -> None:
        """What is over needs none. Collective."""
        self._comm.Barrier()
        shutil.rmtree(self._folder, ignore_errors=True)  # each rank, for hosts may have folders of their own

    @property
    def _mine(self) -> str:
        return f"rank-{self._comm.rank}.pt"

    def _at(self, step: int) -> Path:
        return self._folder / f"step-{step}"

    def _read_latest(self) -> Moment | None:
        try:
            content = json.loads((self._folder / _LATEST).read_text())
            if content["digest"] != self._digest:
                logger.warning("%s: is of another trial's settings; beginning anew", self._folder)
                return None
            reports = tuple(_REPORTS[report.pop("kind")](**report) for report in content["reports"])
            return Moment(content["step"], content["seconds"], reports, content["phases"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError) as error:
            logger.warning("%s: cannot be read (%s); beginning anew", self._folder / _LATEST, error)
            return None

    def _read_state(self, step: int, device: torch.device) -> dict[str, Any] | None:
        path = self._at(step) / self._mine
        try:
            state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
        except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
            logger.warning("%s: cannot be read (%s); beginning anew", path, error)
            return None
        return state


def _write(path: Path, write: Any) -> None:
    partial = path.with_name(f".{path.name}-{os.getpid()}")
    write(partial)
    os.replace(partial, path)


def copy_into(tensors: Sequence[torch.Tensor], kept: Sequence[torch.Tensor]) -> None:
    """Put `kept` values back into `tensors`, which stay where they are in memory."""
    with torch.no_grad():
        for tensor, value in zip(tensors, kept, strict=True):
            tensor.copy_(value)
