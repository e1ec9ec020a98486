"""`sweeper serve`: run sweeps for others, and show them."""

from __future__ import annotations

import signal
import socket
import sys
from contextlib import closing
from pathlib import Path
from types import FrameType

import click

from sweeper.errors import UsageError
from sweeper.gangs import EXECUTORS, Growth
from sweeper.options import autoscale_option, store_option
from sweeper.streams import losses_ignored

_GRACE_S = 3  # for answers that are on their way when the server ends


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8400, show_default=True, help="Port to listen on; 0 finds one."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Tokens, one a line: TOKEN or `submit TOKEN`, `read TOKEN`. Default: SWEEPER_TOKEN and SWEEPER_READ_TOKEN of "
    "the environment. Needed for addresses that others reach.",
)
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="A further name by which browsers and programs may ask for this server; repeatable.",
)
@click.option(
    "--allow-commands",
    is_flag=True,
    help="Take sweeps that run programs of the submitter's: commands, and models or data by module and name.",
)
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="Requests come through a proxy on this machine, by https: cookies are for https only, and addresses are those "
    "that it forwards.",
)
@click.option(
    "--look-only",
    is_flag=True,
    help="Run no sweeps and change nothing: pages and answers only, also beside another server, or of a store that you "
    "may only read.",
)
@click.option(
    "--executor", type=click.Choice(EXECUTORS), default="ray", show_default=True, help="What runs the MPI jobs."
)
@click.option(
    "--ray-address", metavar="ADDRESS", help="Join this Ray cluster instead of starting a private Ray for each sweep."
)
@autoscale_option
@click.option(
    "--oversubscribe",
    is_flag=True,
    help="Let ranks share cores or GPUs where these are too few; such trials are marked, and not ranked over seconds.",
)
@store_option
def serve(
    host: str,
    port: int,
    token_file: Path | None,
    names: tuple[str, ...],
    allow_commands: bool,
    behind_proxy: bool,
    look_only: bool,
    executor: str,
    ray_address: str | None,
    autoscale: Growth | None,
    oversubscribe: bool,
    store_url: str,
) -> None:
    """Serve pages and an HTTP API, and run submitted sweeps.

    Sweeps run one after another. Ctrl-C or SIGTERM puts running trials back to waiting; the next server on the store
    continues with them.
    """
    # Only now: `sweeper --help` shall not wait for it.
    from dashboards.security.settings import settings_for
    from dashboards.security.tokens import read_tokens
    from sweeper.service import Policy, Runner
    from sweeper.store import open_store, read_store

    if ray_address and executor != "ray":
        raise click.UsageError("--ray-address goes with --executor ray only")
    if autoscale and not ray_address:
        raise click.UsageError("--autoscale goes with --ray-address only")
    settings = settings_for(host, names, read_tokens(token_file), secure=behind_proxy)
    policy = Policy(executor, ray_address, oversubscribe, allow_commands, str(autoscale) if autoscale else None)
    opened = read_store if look_only else open_store
    with losses_ignored(), closing(_listen(host, port)) as listener, closing(opened(store_url)) as store:
        runner = None if look_only else Runner(store, store_url, policy)
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"serving {store.name} at http://{shown}:{listener.getsockname()[1]}", err=True)
        signal.signal(signal.SIGTERM, _end)
        if runner is None:
            _serve(store, settings, policy, runner, listener, behind_proxy)
            return
        with closing(runner):
            runner.start()
            _serve(store, settings, policy, runner, listener, behind_proxy)


def _serve(
    store: object, settings: object, policy: object, runner: object, listener: socket.socket, behind_proxy: bool
) -> None:
    import uvicorn

    from dashboards.app import create_app

    app = create_app(store, settings, policy, runner)  # type: ignore[arg-type]
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=behind_proxy,
        timeout_graceful_shutdown=_GRACE_S,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host.strip("[]"), port), family=family)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"--port {port}: cannot listen on {host} ({why})", "choose another with --port") from None


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)
