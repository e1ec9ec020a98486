"""`sweeper submit`: hand a sweep to a service."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from sweeper.cli.server import Server, server_options
from sweeper.guides.samplers import first_points
from sweeper.options import json_option, overrides_option, print_json
from sweeper.plan import plan
from sweeper.spec.file import load_spec


@click.command()
@click.argument("spec_path", metavar="SPEC", type=click.Path(path_type=Path))
@overrides_option
@click.option(
    "--key", metavar="KEY", help="Submitting again under the same key gives the same sweep; default: a new key."
)
@server_options(required=True)
@json_option
def submit(spec_path: Path, overrides: tuple[str, ...], key: str | None, server: Server, as_json: bool) -> None:
    """Submit a sweep to a service, which runs it.

    Returns at once. The service runs sweeps one after another; `sweeper watch` follows yours.
    """
    spec = load_spec(spec_path, overrides)
    plan(spec, first_points)  # what is wrong with it is said here already, with this file's name
    for note in spec.notes():
        click.echo(f"note: {note}", err=True)
    with server.client() as client:
        answer = client.submit(spec.model_dump(mode="json", exclude_unset=True), key or secrets.token_hex(16))
    if as_json:
        print_json(answer)
    else:
        was = "submitted" if answer["new"] else "submitted before"
        click.echo(f"sweep {answer['sweep']} ({answer['name']}): {was}, {answer['trials']} trials")
        click.echo(
            f"`sweeper watch {answer['sweep']} --server {server.url}` follows it; {server.url}/sweeps/{answer['sweep']}"
        )
