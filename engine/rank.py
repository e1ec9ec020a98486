"""One rank of a user's program, whose words are a JSON list in SWEEPER_COMMAND: run by its path under mpiexec.

Gives the program what torchrun would (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE; MASTER_ADDR and MASTER_PORT are
there already), tells the supervisor of its beginning and its end in a line each, and ends it when mpiexec, or on rank 0
the supervisor, is gone.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType

# The user's folder may have an `engine` of its own, and comes first where PYTHONPATH names it.
sys.path.insert(0, str(Path(__file__).parents[1]))
from engine.cores import bind
from engine.parent import die_with_parent
from engine.place import first_set, local_rank, local_ranks

del sys.path[0]

KEY = "sweeper-rank"
MARK = f'{{"{KEY}":'  # begins a line of ours on standard output
ALL_OUTPUT_VARIABLE = "SWEEPER_ALL_OUTPUT"  # where set, rank 0's standard error goes where its output does
COMMAND_VARIABLE = "SWEEPER_COMMAND"  # not among mpiexec's words, some of which mean something to it
_RANK = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
_SIZE = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
_NOT_FOUND = 127


def main() -> int:
    """Run the program; its exit code, 128 and the signal where one killed it."""
    parent = os.getppid()
    die_with_parent()
    rank = int(first_set(_RANK, "0"))
    size = first_set(_SIZE, "1")
    mine, here = local_rank(rank), local_ranks(int(size))
    bind(mine, here)
    places = {"LOCAL_RANK": str(mine), "LOCAL_WORLD_SIZE": str(here)}
    words = json.loads(os.environ.pop(COMMAND_VARIABLE))
    together = os.environ.pop(ALL_OUTPUT_VARIABLE, "") and rank == 0
    # `python` is the one that runs us. Open MPI's mpiexec puts its own folder, which may have another, before it.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    environment = {**os.environ, "PATH": path, "RANK": str(rank), "WORLD_SIZE": size, **places}
    try:
        # What connects a rank with mpiexec is inherited, so that the program may use MPI.
        program = subprocess.Popen(
            [word.encode("utf-8", "surrogateescape") for word in words],  # whatever the locale's encoding
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=None if rank == 0 else sys.stderr,  # only rank 0 reports
            stderr=subprocess.STDOUT if together else None,
            close_fds=False,
            preexec_fn=die_with_parent,
        )
    except OSError as error:
        _say(rank, error=f"{words[0]}: {error.strerror}", code=_NOT_FOUND)
        return _NOT_FOUND

    def pass_on(number: int, _: FrameType | None) -> None:
        program.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)
    _say(rank, pid=program.pid, host=socket.gethostname(), size=int(size))
    if rank == 0:
        threading.Thread(target=_end_with_supervisor, args=(parent,), daemon=True).start()
    code = program.wait()
    code = 128 - code if code < 0 else code
    _say(rank, code=code)
    return code


def _end_with_supervisor(parent: int) -> None:
    """Standard input ends when the supervisor does; without mpiexec's helper, `parent`, all ranks follow.

    Where that has died before, another process has taken its place, and is none of ours.
    """
    while os.read(0, 4096):
        pass
    os.kill(parent if os.getppid() == parent else os.getpid(), signal.SIGKILL)


def _say(rank: int, **content: object) -> None:
    line = json.dumps({KEY: rank, **content}, separators=(",", ":")) + "\n"
    os.write(1, line.encode())  # in one piece, whatever other ranks write


if __name__ == "__main__":
    sys.exit(main())
