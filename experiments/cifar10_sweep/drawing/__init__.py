"""The figures of the study: ours beside the paper's heatmaps, winners by threshold, what the sweeps took."""
