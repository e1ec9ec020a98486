#!/bin/bash
$directives
# Written by `sweeper slurm`. Submit it with sbatch, from the folder that the sweep is to run in. A job that is requeued,
# or that comes to its time limit, goes on with the sweep.
set -u
python=$python
spec=$spec
options=($options)
name=$name
export SWEEPER_STORE=$store
most_requeues=$most_requeues

# 1. Ray: its head on this node, a worker on each other one, each a job step. The token keeps other users away.
mapfile -t nodes < <(scontrol show hostnames "$$SLURM_JOB_NODELIST")
node_address() { scontrol --oneliner show node "$$1" | sed -n 's/.* NodeAddr=\([^ ]*\).*/\1/p'; }
other=$$([ "$${#nodes[@]}" -eq 1 ] || node_address "$${nodes[1]}")
address=$$("$$python" -m sweeper.slurm.meeting_point $$other) || exit 1
export RAY_AUTH_MODE=token
RAY_AUTH_TOKEN=$$("$$python" -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_TOKEN
export RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S=0 # nothing here needs the half minute that Ray would wait at its end
folder=$$(mktemp --dry-run /tmp/sweeper-XXXXXXXX) # of Ray's files, with the node's number; the paths of sockets are short
ray=("$$python" -m ray.scripts.scripts start --block --disable-usage-stats)
steps=()

start_ray() { # NODE OPTION...: a node of Ray with the cores and GPUs that SLURM gives the step
    srun --overlap --nodes=1 --ntasks=1 --nodelist="$$1" --cpus-per-task="$$SLURM_CPUS_PER_TASK" bash -c '
        "$$@" --num-cpus="$$SLURM_CPUS_ON_NODE" --num-gpus="$${SLURM_GPUS_ON_NODE:-0}" --temp-dir="$$0" &
        trap "kill $$!" TERM
        wait $$!
        wait $$!
        rm -rf "$$0"' "$$folder-$${#steps[@]}" "$${ray[@]}" "$${@:2}" > "sweeper-ray-$$SLURM_JOB_ID-$$1.log" 2>&1 &
    steps+=($$!)
}

start_ray "$${nodes[0]}" --head --node-ip-address="$${address%:*}" --port="$${address##*:}" --include-dashboard=false
for node in "$${nodes[@]:1}"; do
    start_ray "$$node" --address="$$address"
done

# 2. The sweep. A signal ends its trials in order: USR1 comes before the time limit, TERM when SLURM ends the job.
signal=
signals=0
child=
interrupt() {
    signal=$$1
    signals=$$((signals + 1))
    [ -z "$$child" ] || kill -TERM "$$child" 2> /dev/null
}
trap 'interrupt USR1' USR1
trap 'interrupt TERM' TERM

attend() { # COMMAND...: run it, and pass signals on at once
    local seen
    [ -z "$$signal" ] || return 130
    "$$@" &
    child=$$!
    while seen=$$signals; wait "$$child"; code=$$?; [ "$$signals" -ne "$$seen" ]; do # a signal ends `wait`
        :
    done
    child=
    return "$$code"
}

run_sweep() {
    attend "$$python" -m sweeper.slurm.joined "$$address" "$$SLURM_JOB_NUM_NODES" || return
    if [ "$${SLURM_RESTART_COUNT:-0}" -gt 0 ] && "$$python" -m sweeper.cli show "$$name" > /dev/null 2>&1; then
        attend "$$python" -m sweeper.cli resume "$$name" --ray-address "$$address"
    else
        attend "$$python" -m sweeper.cli run "$$spec" "$${options[@]}" --ray-address "$$address"
    fi
}

run_sweep
code=$$?
scancel --signal=TERM "$$SLURM_JOB_ID" # all steps, and not this script
wait

# 3. At the time limit, another allocation goes on.
if [ "$$signal" = USR1 ] && [ "$$code" -ge 128 ] && [ "$${SLURM_RESTART_COUNT:-0}" -lt "$$most_requeues" ]; then
    scontrol requeue "$$SLURM_JOB_ID"
fi
exit "$$code"
