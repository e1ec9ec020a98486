# Ray has its head on this node, a worker on each other one, each a job step. The token keeps other users away.
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
node_address() { scontrol --oneliner show node "$1" | sed -n 's/.* NodeAddr=\([^ ]*\).*/\1/p'; }
other=$([ "${#nodes[@]}" -eq 1 ] || node_address "${nodes[1]}")
address=$("$python" -m sweeper.slurm.meeting_point $other) || exit 1
executor=(--ray-address "$address")
export RAY_AUTH_MODE=token
RAY_AUTH_TOKEN=$("$python" -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_TOKEN
export RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S=0 # nothing here needs the half minute that Ray would wait at its end
folder=$(mktemp --dry-run /tmp/sweeper-XXXXXXXX) # of Ray's files, with the node's number; the paths of sockets are short
ray=("$python" -m ray.scripts.scripts start --block --disable-usage-stats)
steps=()

start_ray() { # NODE OPTION...: a node of Ray with the cores and GPUs that SLURM gives the step
    srun --overlap --nodes=1 --ntasks=1 --nodelist="$1" --cpus-per-task="$SLURM_CPUS_PER_TASK" bash -c '
        "$@" --num-cpus="$SLURM_CPUS_ON_NODE" --num-gpus="${SLURM_GPUS_ON_NODE:-0}" --temp-dir="$0" &
        trap "kill $!" TERM
        wait $!
        wait $!
        rm -rf "$0"' "$folder-${#steps[@]}" "${ray[@]}" "${@:2}" > "sweeper-ray-$SLURM_JOB_ID-$1.log" 2>&1 &
    steps+=($!)
}

start_ray "${nodes[0]}" --head --node-ip-address="${address%:*}" --port="${address##*:}" --include-dashboard=false
for node in "${nodes[@]:1}"; do
    start_ray "$node" --address="$address"
done

gangs_are_ready() { attend "$python" -m sweeper.slurm.joined "$address" "$SLURM_JOB_NUM_NODES"; }

end_gangs() {
    scancel --signal=TERM "$SLURM_JOB_ID" # all steps, and not this script
    wait
}
