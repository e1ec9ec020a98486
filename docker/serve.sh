#!/bin/sh
# serve.sh [OPTION...]: `sweeper serve` on the Ray cluster at RAY_HEAD (host:port); options are `sweeper serve`'s.
# Whoever uses a cluster must be on one of its nodes, so this makes the container one, without cores or GPUs to give.
set -eu
ray start --address="$RAY_HEAD" --num-cpus=0 --num-gpus=0 --disable-usage-stats --object-store-memory=134217728
exec sweeper serve --ray-address "$RAY_HEAD" "$@"
