#!/bin/sh
# check_cuda.sh [PYTHON]: builds the CUDA kernels, tests them on this machine's GPU, and lets compute-sanitizer watch
# each of them for accesses out of bounds and for races. Needs nvcc, a torch with CUDA, pytest and hypothesis.
set -eu
python=${1:-python3}
cd "$(dirname "$0")/.."
"$python" -m cuda_ext.build --cuda
"$python" -c 'import torch; assert torch.cuda.is_available(), "torch sees no GPU"'
"$python" -m pytest -q tests/cuda tests/cuda_ext
export PYTORCH_NO_CUDA_MEMORY_CACHING=1
compute-sanitizer --tool memcheck --error-exitcode 1 "$python" -m tests.cuda.exercise
# racecheck knows nothing of the barriers of tensor memory copies and sees races in the library's kernels: only ours count.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
compute-sanitizer --tool racecheck "$python" -m tests.cuda.exercise > "$log" 2>&1 || { tail -n 20 "$log"; exit 1; }
if grep "access at .*sweeper" "$log"; then exit 1; fi
