# Each gang is a job step of its own, which `sweeper` starts.
executor=(--executor slurm)
gangs_are_ready() { :; }
end_gangs() { :; }
