"""Write docs/cli.md from the commands' own help: `python scripts/write_cli_page.py`; with `--check` only compare."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from sweeper.cli.main import cli

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
HEADING = """# Commands

Written by `scripts/write_cli_page.py` from the commands' help; `sweeper COMMAND --help` prints the same.

A sweep is named by its id, the beginning of its id, its name (the newest of that name), or `latest`.

Exit codes: 0 done, 1 a clear error, 2 wrong usage, 130 interrupted, 141 if whoever read the output has gone.
With `--json` an error is `{"error": {"kind", "message", "remedy"}}` on standard error.

| variable | meaning |
| --- | --- |
| `SWEEPER_STORE` | the store, as for `--store` |
| `SWEEPER_DATA` | a folder with data sets, looked at before Debian's and your cache |
| `SWEEPER_LOGS` | the folder for what ranks print; `sweeper-logs` by default |
| `SWEEPER_MPIEXEC` | the `mpiexec` to use; by default the one beside Python, else the one on the path |
| `SWEEPER_SEATS` | the folder whose locked files say which cores and GPUs are taken; `/tmp/sweeper-seats` by default |
| `SWEEPER_LOG` | how much the command itself says: `warning` (default), `info` or `debug` |
"""


def page() -> str:
    """The whole page."""
    context = click.Context(cli, info_name="sweeper")
    parts = [HEADING]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        parts += described(command, click.Context(command, info_name=name, parent=context))
    return "\n".join(parts)


def described(command: click.Command, context: click.Context) -> Iterator[str]:
    """A command: usage, what it does, its options."""
    yield f"## `{context.command_path}`\n"
    yield f"```\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```\n"
    paragraphs = (command.help or "").split("\n\n")
    yield "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs) + "\n"
    records = [option.get_help_record(context) for option in command.params if isinstance(option, click.Option)]
    rows = [(names, " ".join(text.split())) for names, text in filter(None, records)]
    if rows:
        yield "| option | meaning |\n| --- | --- |"
        yield "\n".join(f"| {_code(names)} | {_cell(text)} |" for names, text in rows) + "\n"
    if isinstance(command, click.Group):
        for name, inner in sorted(command.commands.items()):
            yield from described(inner, click.Context(inner, info_name=name, parent=context))


def _code(names: str) -> str:
    return f"`{_cell(names)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is out of date")
    given = parser.parse_args()
    text = page()
    if given.check:
        fresh = PAGE.is_file() and PAGE.read_text() == text
        sys.stderr.write("" if fresh else "docs/cli.md is out of date: run python scripts/write_cli_page.py\n")
        return 0 if fresh else 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
