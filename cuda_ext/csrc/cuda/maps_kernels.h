// The gradient of a convolution's weights over maps of many channels on the GPU: what the host side asks of the kernel.
// No torch here, so that it compiles quickly.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "dense_kernels.h"

namespace sweeper::cuda {

// Maps in [images, height, width, channels], maps out [images, out_height, out_width, maps], weights
// [maps, kernel, kernel, channels], each dense in memory; stride 1.
struct MapsConv {
  int images, channels, height, width, maps, kernel, padding;

  __host__ __device__ int out_height() const { return height + 2 * padding - kernel + 1; }
  __host__ __device__ int out_width() const { return width + 2 * padding - kernel + 1; }
};

// Whether a row of such maps fits in a block's shared memory.
bool fits(const MapsConv& conv);

// Bytes of `partial` that the gradient needs.
int64_t maps_partial_bytes(const MapsConv& conv);

// Enqueues the gradient of the weights; `grad` and `input` are of type `element`, float32 or bfloat16. Products are in
// tf32, sums in float32 and in an order of their own: the same in every run.
cudaError_t run_maps_weight_gradient(const MapsConv& conv, Element element, const void* grad, const void* input,
                                     float* weight_grad, float* partial, cudaStream_t stream);

}  // namespace sweeper::cuda
