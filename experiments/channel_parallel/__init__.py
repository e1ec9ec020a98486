"""The note on channel-parallel convolution: layers split over channels beside layers split over samples."""
