"""`sweeper export`: a sweep as a file for other programs, or for another store."""

from __future__ import annotations

from contextlib import closing

import click

from sweeper.interchange.exporting import export_format, export_place, write_export
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
    help="Where to write, `-` for standard output; its ending chooses the format: "
    + ", ".join(suffix for each in SWEEP_FORMATS.values() for suffix in each.suffixes)
    + ".",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(list(SWEEP_FORMATS)),
    help="Format of the file; default: from its ending. tensorboard writes a folder.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@store_option
@json_option
def export(sweep: str, target: str, format_name: str | None, force: bool, store_url: str, as_json: bool) -> None:
    """Export a sweep with everything recorded of it.

    SWEEP is an id, the beginning of one, a name, or `latest`. `sweeper import` reads every format and restores the same
    sweep. `-o -` writes to standard output, in the format that --format names; CSV then lacks its second file, which an
    import needs.
    """
    file_format = export_format(target, format_name)
    place = export_place(target, file_format, force=force)
    with closing(read_store(store_url)) as store:
        archive = read_archive(store, store.sweeps.find(sweep).id)
        path = write_export(archive, file_format, target, force=force)
    count, beside = len(archive.trials), place.is_standard_output
    if place.is_stream and file_format.companion:
        click.echo(f"written without its {file_format.companion} file: `sweeper import` cannot read it", err=True)
    if as_json:
        heading = {"sweep": archive.sweep.id, "name": archive.sweep.name}
        answer = {**heading, "file": str(path), "format": file_format.name, "trials": count}
        print_json(answer, err=beside)
    else:
        name = archive.sweep.name
        click.echo(f"exported {count} trial{'s' * (count != 1)} of {name} to {path} ({file_format.name})", err=beside)
