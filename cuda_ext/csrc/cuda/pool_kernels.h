// Pooled ReLUs on the GPU: what the host side asks of the kernels. No torch here, so that it compiles quickly.
#pragma once

#include "dense_kernels.h"

namespace sweeper::cuda {

// Windows of `size` x `size` pixels, `stride` apart, over maps [images, height, width, channels], all dense.
struct PoolShape {
  int images;
  int height;
  int width;
  int pooled_height;
  int pooled_width;
  int size;
  int stride;
  int64_t channels;
};

// y = mean over each window of relu(x + bias). `bias` [channels] is of the accumulating type.
struct PoolForward {
  const void* x;
  const void* bias;
  void* y;                // [images, pooled_height, pooled_width, channels]
};

struct PoolBackward {
  const void* gradient;   // as y
  const void* x;
  const void* bias;
  void* result;           // as x
  void* to_bias;          // [channels]
  void* partial;          // pool_partial_bytes(), aligned to 8
};

cudaError_t run_pool_forward(Element element, const PoolShape& shape, const PoolForward& pass, cudaStream_t stream);
int64_t pool_partial_bytes(Element element, const PoolShape& shape);
cudaError_t run_pool_backward(Element element, const PoolShape& shape, const PoolBackward& pass, cudaStream_t stream);

}  // namespace sweeper::cuda
