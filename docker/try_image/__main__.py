"""Build the image in a clean Debian tree, start what the compose file starts, and run a sweep on it. Needs root.

Nothing is left running, mounted or connected: all of it lives in namespaces that end with this program.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from docker.try_image.build import Surroundings, build
from docker.try_image.cluster import running, sweep
from docker.try_image.compose import read_compose, services
from docker.try_image.context import Context
from docker.try_image.database import make_database
from docker.try_image.debian import make_tree, pip_settings
from docker.try_image.dockerfile import needed, stages
from docker.try_image.image import Image
from docker.try_image.network import make_networks
from docker.try_image.sandbox import Mount
from sweeper.errors import SweeperError, UsageError

ROOT = Path(__file__).parent.parent.parent
_TOOLS = ("chroot", "debootstrap", "ip", "mount", "nsenter", "setpriv", "unshare")
_APART = "SWEEPER_TRY_IMAGE_APART"
_TARGET = "run"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 where all went well."""
    options = _options(arguments)
    folder = options.folder.resolve()
    try:
        if _APART in os.environ:
            _run(folder)
            return 0
        _check_machine()
        if not options.keep_image:
            _build(folder, dict(pair.split("=", 1) for pair in options.build_arg))
        _run_apart(folder)
    except SweeperError as error:
        click.echo(f"error: {error}", err=True)
        return 1
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m docker.try_image", description=__doc__)
    parser.add_argument("folder", type=Path, help="where trees, logs and volumes go; takes about 6 GB")
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE", help="as docker build's")
    parser.add_argument("--keep-image", action="store_true", help="start the image that an earlier run built")
    return parser.parse_args(arguments)


def _check_machine() -> None:
    if os.geteuid():
        raise UsageError("chroot and mounts need root", "run it as root")
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        raise UsageError(f"not found: {', '.join(missing)}", "apt-get install debootstrap iproute2 util-linux")


def _run_apart(folder: Path) -> None:
    """Go on as this program in namespaces of its own for mounts, processes and the network, which end with it."""
    apart = ["unshare", "--mount", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"]
    os.environ[_APART] = "1"
    os.execvp(apart[0], [*apart, sys.executable, "-m", "docker.try_image", str(folder), "--keep-image"])


def _build(folder: Path, arguments: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    base = folder / "base"
    click.echo("making a clean Debian tree")
    make_tree(base)
    environment, mounts = pip_settings()
    names = Mount(Path("/etc/resolv.conf"), "/etc/resolv.conf")
    around = Surroundings(Context(ROOT), arguments, environment, [names, *mounts], click.echo)
    text = (ROOT / "docker" / "Dockerfile").read_text()
    build(needed(stages(text, arguments), _TARGET), Image(base), folder, around)


def _run(folder: Path) -> None:
    image, database = Image.load(folder / _TARGET), make_database(folder / "base", folder / "database")
    compose = read_compose(ROOT / "docker" / "compose.yaml")
    found = services(compose, image, {"postgres": database})
    networks = make_networks(compose["networks"], found)
    with running(found, networks, folder / "containers", click.echo) as containers:
        for group in sweep(containers["sweeper"])["groups"]:
            click.echo(f"best of {group['group']}: {group['winner']['parameters']}")


if __name__ == "__main__":
    sys.exit(main())
