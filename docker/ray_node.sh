#!/bin/sh
# ray_node.sh head|worker [OPTION...]: a node of the Ray cluster, until it is stopped; options are `ray start`'s.
# RAY_HEAD (host:port) is where a worker finds the head. The cluster's secret is in the file RAY_AUTH_TOKEN_PATH.
set -eu
role=$1
shift
# Only events of the ranks pass through the object store; Ray would take a third of the memory, more than /dev/shm has.
store=--object-store-memory=134217728
case $role in
head) exec ray start --head --port=6379 --include-dashboard=false --disable-usage-stats "$store" --block "$@" ;;
worker) exec ray start --address="$RAY_HEAD" --disable-usage-stats "$store" --block "$@" ;;
*)
    echo "error: ray_node.sh: the node is a head or a worker, not $role" >&2
    exit 2
    ;;
esac
