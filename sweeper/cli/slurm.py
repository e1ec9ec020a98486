"""`sweeper slurm`: a sweep as an sbatch file."""

from __future__ import annotations

from pathlib import Path

import click

from sweeper.options import overrides_option, store_option
from sweeper.output_file import STANDARD_OUTPUT, OutputPlace, write_output
from sweeper.slurm import EXECUTORS, BatchFile, Wishes, smallest_allocation
from sweeper.spec.file import load_spec


@click.command()
@click.argument("spec_path", metavar="SPEC", type=click.Path(path_type=Path))
@overrides_option
@click.option(
    "-o", "--output", "target", metavar="FILE", default=STANDARD_OUTPUT, help="Where to write; default: the screen."
)
@click.option(
    "--executor", type=click.Choice(EXECUTORS), default=EXECUTORS[0], show_default=True, help="What runs the MPI jobs."
)
@click.option("--nodes", type=click.IntRange(min=1), default=1, show_default=True, help="Nodes of the allocation.")
@click.option(
    "--cpus-per-node", type=click.IntRange(min=1), metavar="N", help="Default: what the largest worker count needs."
)
@click.option(
    "--gpus-per-node", type=click.IntRange(min=0), metavar="N", help="Default: what the largest worker count needs."
)
@click.option("--time", help="Time limit as sbatch takes it, for example 4:00:00; default: the partition's.")
@click.option("--partition", help="Partition; default: the site's.")
@click.option("--account", help="Account that pays; default: yours.")
@store_option
def slurm(
    spec_path: Path,
    overrides: tuple[str, ...],
    target: str,
    executor: str,
    nodes: int,
    cpus_per_node: int | None,
    gpus_per_node: int | None,
    time: str | None,
    partition: str | None,
    account: str | None,
    store_url: str,
) -> None:
    """Write an sbatch file that runs a sweep on SLURM.

    SPEC is a YAML or JSON file. The job runs the sweep on its nodes: each MPI job is a job step, or runs on a Ray that
    the job starts (--executor ray). Before the time limit the sweep is interrupted and the job requeued; it then goes
    on. Submit the file from the folder that the sweep is to run in.
    """
    spec = load_spec(spec_path, overrides)
    wishes = Wishes(nodes, cpus_per_node, gpus_per_node, time, partition, account)
    allocation = smallest_allocation(spec, wishes)
    text = BatchFile(spec.name, spec_path.absolute(), overrides, store_url, allocation, executor).text()
    place = OutputPlace.of(target)
    write_output(place, lambda path: path.write_text(text, encoding="utf-8"))
    if not place.is_stream:
        click.echo(f"written: {target}; submit it with `sbatch {target}`")
