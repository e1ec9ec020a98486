"""The paper's section 4: realignment in place and fused fully connected layers, beside its kernels, torch and limits."""
