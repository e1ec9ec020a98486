"""The paper's section 4: realignment in place and fused layers, beside its own kernels, torch and the limits."""
