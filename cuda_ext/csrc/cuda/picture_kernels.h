// Convolutions over pictures of few channels on the GPU: what the host side asks of the kernels. No torch here, so that
// it compiles quickly.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "dense_kernels.h"

namespace sweeper::cuda {

// Pictures [images, height, width, channels], maps [images, out_height, out_width, maps], weights
// [maps, kernel, kernel, channels], each dense in memory; stride 1.
struct PictureConv {
  int images, channels, height, width, maps, kernel, padding;

  __host__ __device__ int out_height() const { return height + 2 * padding - kernel + 1; }
  __host__ __device__ int out_width() const { return width + 2 * padding - kernel + 1; }
};

// Whether the current device has tensor cores for tf32.
bool has_tf32();

// Enqueues the convolution; `maps` are of type `element`, float32 or bfloat16. Products are in tf32.
cudaError_t run_picture_conv(const PictureConv& conv, Element element, const float* pictures, const float* weight,
                             void* maps, cudaStream_t stream);

// Bytes of `partial` that the gradient needs.
int64_t picture_partial_bytes(const PictureConv& conv);

// Enqueues the gradient of the weights; `grad` is of type `element`. Products are in tf32, sums in float32 and in an
// order of their own: the same in every run.
cudaError_t run_picture_conv_weight_gradient(const PictureConv& conv, Element element, const void* grad,
                                             const float* pictures, float* weight_grad, float* partial,
                                             cudaStream_t stream);

}  // namespace sweeper::cuda
