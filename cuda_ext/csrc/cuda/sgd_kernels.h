// A step of gradient descent on the GPU: what the host side asks of the kernel. No torch here, so that it compiles
// quickly.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sweeper::cuda {

// `numbers` are rate, momentum and decay, read on the device; `velocity` is null where there is none.
template <typename T>
struct SgdStep {
  T* weights;
  const T* gradients;
  T* velocity;
  const double* numbers;
  int64_t count;
};

template <typename T>
cudaError_t run_sgd_step(const SgdStep<T>& step, cudaStream_t stream);

}  // namespace sweeper::cuda
