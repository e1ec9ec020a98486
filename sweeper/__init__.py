"""Sweeps over batch size, learning rate and worker count, ranked by the thresholded area under the loss curve."""
