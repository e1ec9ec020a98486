"""The process that runs one sweep of a service: `python -m sweeper.service.sweep_process SWEEP`.

A scheduler has a process to itself, so that no page that somebody looks at holds it up, and its end is nobody else's.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import closing

from rich.console import Console

from engine.errors import ClearError
from engine.parent import die_with_parent
from sweeper.execution import Execution, resume_sweep
from sweeper.gangs import Growth
from sweeper.live_view import on_console
from sweeper.service.policy import INTERRUPTED, NOTED, POLICY_VARIABLE, STORE_VARIABLE, Policy
from sweeper.store import Store, open_store
from sweeper.streams import ignore_losses, prepare_streams


def main(sweep_id: str) -> int:
    """Run what waits of a sweep; the exit code. What keeps it from being run is noted with its submission."""
    die_with_parent()
    prepare_streams()
    ignore_losses()  # a full disk of the log's is no reason to end a sweep
    logging.basicConfig(level="WARNING", format="%(levelname)s %(message)s")
    policy = Policy.from_json(os.environ.pop(POLICY_VARIABLE))
    with closing(open_store(os.environ[STORE_VARIABLE], create=False)) as store:
        try:
            run(store, sweep_id, policy)
        except ClearError as error:
            print_error(str(error))
            problem = {"kind": error.kind, "message": error.message, "remedy": error.remedy}
            store.submissions.note_problem(sweep_id, problem)
            return NOTED
        except KeyboardInterrupt:
            return INTERRUPTED
    return 0


def run(store: Store, sweep_id: str, policy: Policy) -> None:
    """Run what waits of a sweep by a policy, as `sweeper resume` does."""
    execution = Execution(
        policy.executor,
        policy.ray_address,
        finish_running=False,
        oversubscribe=policy.oversubscribe,
        growth=Growth.parse(policy.autoscale) if policy.autoscale else None,
    )
    resume_sweep(store, sweep_id, execution, on_console(Console(stderr=True)), forget_stop=False)


def print_error(line: str) -> None:
    """A line for the log of the service."""
    sys.stderr.write(f"error: {line}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
