#!/bin/bash
$directives
# Written by `sweeper slurm`. Submit it with sbatch, from the folder that the sweep is to run in. A job that is requeued,
# or that comes to its time limit, goes on with the sweep.
set -u
python=$python
spec=$spec
options=($options)
export SWEEPER_STORE=$store
most_requeues=$most_requeues

# 1. A signal ends what runs in order: USR1 comes before the time limit, TERM when SLURM ends the job.
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
    local seen code
    [ -z "$$signal" ] || return 130
    "$$@" &
    child=$$!
    while seen=$$signals; wait "$$child"; code=$$?; [ "$$signals" -ne "$$seen" ]; do # a signal ends `wait`
        :
    done
    child=
    return "$$code"
}

# 2. Where gangs run.
$gangs

# 3. The sweep.
[ "$${SLURM_RESTART_COUNT:-0}" -eq 0 ] || options+=(--resume)
run_sweep() {
    gangs_are_ready && attend "$$python" -m sweeper.cli run "$$spec" "$${options[@]}" "$${executor[@]}"
}

run_sweep
code=$$?
end_gangs

# 4. Another allocation goes on, if the time limit or a preemption has ended this one. SLURM requeues by itself at TERM.
is_preempted() { scontrol show job --oneliner "$$SLURM_JOB_ID" | grep -q ' PreemptTime=[^N]'; }
is_interrupted() { [ "$$code" -ge 128 ] && { [ "$$signal" = USR1 ] || { [ -z "$$signal" ] && is_preempted; }; }; }
if is_interrupted && [ "$${SLURM_RESTART_COUNT:-0}" -lt "$$most_requeues" ]; then
    scontrol requeue "$$SLURM_JOB_ID"
fi
exit "$$code"
