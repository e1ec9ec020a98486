"""A rank's life: come up, train what rank 0 is told to, go.

Started by `mpiexec -n N python -m mpi4py -m engine.worker`. A rank that raises, whatever it is, ends the whole job.
"""

from __future__ import annotations

import faulthandler
import os
import platform
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from mpi4py import MPI

from engine.channel import CommandReader, EventWriter
from engine.config import TrainingConfig
from engine.cores import bind
from engine.idle import broadcast_text
from engine.parent import die_with_parent
from engine.place import local_rank, local_ranks
from engine.protocol import (
    LAST_WORDS,
    STACKS_SIGNAL,
    Command,
    Ended,
    Evaluated,
    Exit,
    Point,
    Prepare,
    Ready,
    Started,
    Train,
    decode_command,
    encode,
)
from engine.shared_memory import mapped_segments, remove_segments

if TYPE_CHECKING:
    from engine.kept import Kept

_HEARD_S = 0.3  # mpiexec passes last words on in its own time, and an abort may overtake them


def main() -> None:
    """Serve trials until an exit, or the end of rank 0's standard input; then leave at once."""
    comm = MPI.COMM_WORLD
    die_with_parent()
    faulthandler.register(STACKS_SIGNAL)
    bind(local_rank(comm.rank), local_ranks(comm.size))
    events = EventWriter()
    try:
        import torch

        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        _serve(comm, events)
    except BaseException:  # noqa: BLE001 - an interrupt or an exit of one rank would leave the others as well
        _say_last_words(comm.rank)
        time.sleep(_HEARD_S)
        comm.Abort(1)  # the other ranks wait in a collective and would do so for ever
    # What Python and torch tidy up at their end takes up to two seconds, in which the next gang waits for the seats.
    MPI.Finalize()
    sys.stderr.flush()
    os._exit(0)


def _serve(comm: MPI.Comm, events: EventWriter) -> None:
    pids = comm.gather(os.getpid())
    hosts = comm.gather(MPI.Get_processor_name())
    comm.Barrier()
    # All ranks have MPICH's segments mapped and nobody opens them by name again: without names they end with the ranks,
    # however these end. Open MPI opens its own when ranks first speak to each other, so they keep their names.
    remove_segments(segment for segment in mapped_segments([os.getpid()]) if segment.name.startswith("mpich_"))
    if comm.rank != 0:
        serving = _Serving(comm, events)
        while not isinstance(command := decode_command(broadcast_text(comm, None)), Exit):
            serving.do(command)
        return
    assert pids is not None
    assert hosts is not None
    commands = CommandReader()
    serving = _Serving(comm, events, commands)
    events.send(Ready(comm.size, pids, hosts, _versions()))
    for command in commands:
        broadcast_text(comm, encode(command))
        serving.do(command)
    broadcast_text(comm, encode(Exit()))


class _Serving:
    """Trains on one rank what rank 0, which alone has `commands`, was told; keeps what later trials can use."""

    def __init__(self, comm: MPI.Comm, events: EventWriter, commands: CommandReader | None = None) -> None:
        self._comm, self._events, self._commands = comm, events, commands
        self._kept: Kept | None = None

    def do(self, command: Command) -> None:
        # Only now, so that a gang that cannot even import it says so for the trial it was given.
        from engine.kept import Kept
        from engine.trainer import set_up

        self._kept = Kept(self._comm) if self._kept is None else self._kept
        if isinstance(command, Prepare):
            set_up(TrainingConfig.model_validate(command.config), self._comm, self._kept)
        elif isinstance(command, Train):
            self._train(command, self._kept)

    def _train(self, command: Train, kept: Kept) -> None:
        from engine.trainer import train

        config = TrainingConfig.model_validate(command.config)
        checkpoints = Path(command.checkpoints) if command.checkpoints else None

        def stop_asked() -> bool:
            return self._commands is not None and self._commands.stop_asked(command.trial)

        train(command.trial, config, self._comm, self._report, stop_asked, checkpoints, kept=kept)

    def _report(self, event: Started | Point | Evaluated | Ended) -> None:
        if self._commands and isinstance(event, Ended):
            self._commands.end_trial()
        self._events.send(event)


def _versions() -> dict[str, str]:
    import mpi4py
    import torch

    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "mpi4py": mpi4py.__version__,
        "mpi": MPI.Get_library_version().strip().splitlines()[0].strip("\0 \t"),
    }


def _say_last_words(rank: int) -> None:
    lines = traceback.format_exc().splitlines()
    text = "".join(f"{LAST_WORDS} {rank}: {line}\n" for line in lines)
    # One write, so that ranks that fail together do not mix their lines.
    os.write(sys.stderr.fileno(), text.encode(errors="replace"))


if __name__ == "__main__":
    main()
