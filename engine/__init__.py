"""The training job: MPI ranks that train one network together; nothing here knows of sweeps, Ray or SQL."""
