#!/bin/sh
# make_venv.sh PYTHON FOLDER: a virtual environment with pip, also where Debian's python3-venv is not installed
# (its Python then lacks ensurepip): pip comes out of Debian's package of it, which needs neither root nor installing.
set -eu
python=$1
folder=$2

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "error: $("$python" --version 2>&1) is too old; install Python 3.11 or newer, or run make PYTHON=..." >&2
    exit 1
}
if "$python" -c 'import ensurepip' 2>/dev/null; then
    exec "$python" -m venv "$folder"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
package=python3-pip-whl
if ! (cd "$work" && apt-get download "$package") >/dev/null 2>&1; then
    # The machine's package lists are missing or old, and only root may refresh them: use lists of our own.
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
    options="-oDir::State::Lists=$work/lists -oDir::Cache=$work/cache"
    # shellcheck disable=SC2086
    (cd "$work" && apt-get $options update && apt-get $options download "$package") >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        echo "error: this Python has no ensurepip, and pip cannot be fetched; apt-get install python3-venv" >&2
        exit 1
    }
fi
dpkg-deb --extract "$work"/*.deb "$work/content"
wheel=$(ls "$work"/content/usr/share/python-wheels/pip-*.whl)
"$python" -m venv --without-pip "$folder"
"$folder/bin/python" "$wheel/pip" install --quiet --no-index "$wheel"
