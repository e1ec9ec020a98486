"""`sweeper export`: a sweep as a file for other programs, or for another store."""

from __future__ import annotations

from contextlib import closing

import click

from sweeper.interchange.exporting import export_format, write_export
from sweeper.interchange.formats import SWEEP_FORMATS
from sweeper.options import json_option, print_json, store_option
from sweeper.store import read_store
from sweeper.store.archives import read_archive


@click.command()
@click.argument("sweep", metavar="SWEEP")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    required=True,
    help="Where to write; its ending chooses the format: "
    + ", ".join(suffix for each in SWEEP_FORMATS.values() for suffix in each.suffixes)
    + ".",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(list(SWEEP_FORMATS)),
    help="Format of the file; default: from its ending. tensorboard writes a folder.",
)
@store_option
@json_option
def export(sweep: str, target: str, format_name: str | None, store_url: str, as_json: bool) -> None:
    """Export a sweep with everything recorded of it.

    SWEEP is an id, the beginning of one, a name, or `latest`. `sweeper import` reads every format and restores the same
    sweep.
    """
    file_format = export_format(target, format_name)
    with closing(read_store(store_url)) as store:
        archive = read_archive(store, store.sweeps.find(sweep).id)
        path = write_export(archive, file_format, target)
    count = len(archive.trials)
    if as_json:
        heading = {"sweep": archive.sweep.id, "name": archive.sweep.name}
        print_json({**heading, "file": str(path), "format": file_format.name, "trials": count})
    else:
        name = archive.sweep.name
        click.echo(f"exported {count} trial{'s' * (count != 1)} of {name} to {path} ({file_format.name})")
