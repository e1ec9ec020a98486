#!/bin/sh
# install.sh PYTHON FOLDER [cpu|cuda]: a virtual environment in FOLDER with the project, its operators compiled in.
#
# The image's own steps (docker/Dockerfile calls this), and as good on a plain machine: it needs Python 3.11 or newer
# with venv, g++, and for cuda an nvcc of torch's CUDA. Versions are those of constraints.txt.
#   TORCH_INDEX       where the torch of the device comes from besides the package index; empty for nowhere else;
#                     default for cpu: https://download.pytorch.org/whl/cpu
set -eu
python=$1
folder=$2
device=${3:-cpu}
source=$(cd "$(dirname "$0")/.." && pwd)

case $device in
cpu)
    index=${TORCH_INDEX-https://download.pytorch.org/whl/cpu}
    SWEEPER_CUDA=0
    ;;
cuda)
    index=${TORCH_INDEX-}
    SWEEPER_CUDA=1
    ;;
*)
    echo "error: install.sh: the device is cpu or cuda, not $device" >&2
    exit 2
    ;;
esac
export SWEEPER_CUDA

"$source/scripts/make_venv.sh" "$python" "$folder"
pip() { "$folder/bin/python" -m pip install --quiet --no-cache-dir --constraint "$source/constraints.txt" "$@"; }

torch=$(sed -n 's/^\(torch==[^ ;]*\).*/\1/p' "$source/constraints.txt")
pip ${index:+--extra-index-url "$index"} "$torch" setuptools ninja
# Not in place: what is built goes into the environment, and the source may be read only or thrown away.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for part in pyproject.toml setup.py README.md LICENSE sweeper engine cuda_ext dashboards; do
    cp -R "$source/$part" "$work/"
done
rm -rf "$work"/cuda_ext/_operators.* "$work/build"
pip --no-build-isolation "$work[mpich,postgresql,tensorboard,kuberay]"

# What must be there when it runs: from another folder, so that the source is not what is found.
cd "$work/.."
"$folder/bin/python" -c 'from cuda_ext.load import load_operators; print(load_operators())'
"$folder/bin/sweeper" --version
