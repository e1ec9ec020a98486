"""The entry point: finds the command, turns errors into one line (or JSON) and an exit code.

Exit codes: 0 done, 1 a clear error, 2 wrong usage, 130 interrupted, 141 where whoever read the output has gone.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.metadata import entry_points

import click

from engine.errors import ClearError
from sweeper.errors import SweeperError, UsageError
from sweeper.streams import LostStreamError, ReaderGoneError, ignore_losses, json_text, prepare_streams

# Loaded only when called, so that `sweeper list` does not wait for what `sweeper run` needs.
COMMANDS = {
    "run": "sweeper.cli.run:run",
    "list": "sweeper.cli.list_sweeps:list_sweeps",
    "show": "sweeper.cli.show:show",
    "log": "sweeper.cli.log:log",
    "best": "sweeper.cli.best:best",
    "forecast": "sweeper.cli.forecast:forecast",
    "costs": "sweeper.cli.costs:costs",
    "submit": "sweeper.cli.submit:submit",
    "slurm": "sweeper.cli.slurm:slurm",
    "watch": "sweeper.cli.watch:watch",
    "resume": "sweeper.cli.resume:resume",
    "rerun": "sweeper.cli.rerun:rerun",
    "extend": "sweeper.cli.extend:extend",
    "check": "sweeper.cli.check:check",
    "stop": "sweeper.cli.stop:stop",
    "delete": "sweeper.cli.stop:delete",
    "import": "sweeper.cli.import_logs:import_logs",
    "export": "sweeper.cli.export:export",
    "upgrade": "sweeper.cli.upgrade:upgrade",
    "doctor": "sweeper.cli.doctor:doctor",
}
PLUGINS = "sweeper.commands"
LOG_VARIABLE = "SWEEPER_LOG"
INTERRUPTED = 130
_CLOSE = 0.75  # of an option to a wrong one, as difflib has it
PIPE_CLOSED = 141  # as a shell says of programs that end by SIGPIPE


class LazyCommands(click.Group):
    """A group whose commands are imported when they are asked for, those of entry points among them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of a sweep's life."""
        return [*COMMANDS, *sorted(entry_points(group=PLUGINS).names)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None where there is no such name."""
        if cmd_name in COMMANDS:
            module, _, name = COMMANDS[cmd_name].partition(":")
            command = getattr(importlib.import_module(module), name)
        else:
            found = entry_points(group=PLUGINS, name=cmd_name)
            command = next(iter(found)).load() if found else None
        assert command is None or isinstance(command, click.Command)
        return command


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="sweeper")
def cli() -> None:
    """Sweep batch size, learning rate and worker count; find what gets the loss down soonest."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    prepare_streams()
    arguments = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in arguments
    try:
        _set_up_logging()
        code = cli.main(args=list(arguments), prog_name="sweeper", standalone_mode=False)
        sys.stdout.flush()
    except (ClearError, click.ClickException, click.Abort, KeyboardInterrupt, LostStreamError) as error:
        ignore_losses()
        code = _code_of(error, as_json)
    finally:
        ignore_losses()  # of what the end of the process writes
    sys.exit(code if isinstance(code, int) else 0)


def _code_of(error: BaseException, as_json: bool) -> int:
    """Say what went wrong; the exit code."""
    match error:
        case ClearError():
            return _report(error.kind, *_with_option(error), as_json)
        case click.exceptions.NoArgsIsHelpError():  # a group of commands without one of them
            click.echo(error.format_message(), err=True)
            return 2
        case click.UsageError():
            where = error.ctx.command_path if error.ctx else "sweeper"
            return _report("usage", _words_of(error), f"see `{where} --help`", as_json, code=2)
        case click.ClickException():
            return _report("error", error.format_message(), "", as_json)
        case click.Abort() | KeyboardInterrupt():
            return INTERRUPTED
        case ReaderGoneError():  # nothing is left to say
            return PIPE_CLOSED
        case LostStreamError():
            why = f"standard output cannot be written ({error.strerror})"
            return _report("output", why, "redirect it to a file with room, or to /dev/null", as_json)
    raise AssertionError(error)


def _words_of(error: click.UsageError) -> str:
    """What click says, as the beginning of a sentence that goes on; its guesses only where they are close."""
    if not isinstance(error, click.NoSuchOption):
        return error.format_message().rstrip(".")
    close = get_close_matches(error.option_name, error.possibilities or (), cutoff=_CLOSE)
    guess = f", did you mean {' or '.join(close)}?" if close else ""
    return f"{error.option_name}: there is no such option{guess}"


def _set_up_logging() -> None:
    level = os.environ.get(LOG_VARIABLE, "warning")
    known = [name.lower() for name in logging.getLevelNamesMapping() if name not in ("NOTSET", "WARN", "FATAL")]
    if level.lower() not in known:
        raise UsageError(f"{LOG_VARIABLE}: {level!r} is no level", f"use one of {', '.join(known)}")
    logging.basicConfig(level=level.upper(), format="%(levelname)s %(message)s")


def _with_option(error: ClearError) -> tuple[str, str]:
    """Message and remedy, with the option that does what the last of them says."""
    option = f" ({error.option})" if isinstance(error, SweeperError) and error.option else ""
    return (error.message, f"{error.remedy}{option}") if error.remedy else (f"{error.message}{option}", "")


def _report(kind: str, message: str, remedy: str, as_json: bool, code: int = 1) -> int:
    if as_json:
        text = json_text({"error": {"kind": kind, "message": message, "remedy": remedy}}, sys.stderr)
    else:
        lines = (f"{message}; {remedy}" if remedy else message).splitlines()
        text = "\n".join(f"error: {line}" for line in lines)
    click.echo(text, err=True)
    return code
