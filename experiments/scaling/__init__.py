"""Strong and weak scaling of residual networks, in time and in dollars, beside DistributedDataParallel."""
