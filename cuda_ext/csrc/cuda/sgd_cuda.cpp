// A step of gradient descent on the GPU: checks and the launch.
#include <ATen/Dispatch.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "../sgd.h"
#include "sgd_kernels.h"

namespace sweeper {
namespace {

void sgd_step_(at::Tensor weights, const at::Tensor& gradients, const std::optional<at::Tensor>& velocity,
               const at::Tensor& numbers) {
  check_step(weights, gradients, velocity, numbers);
  const auto is_aligned = [](const at::Tensor& tensor) {
    return reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % 16 == 0;
  };
  TORCH_CHECK(is_aligned(weights) && is_aligned(gradients) && (!velocity || is_aligned(*velocity)),
              "sgd_step_: expected weights, gradients and velocity aligned to 16 bytes; pass whole buffers");
  const c10::cuda::CUDAGuard guard(weights.device());
  AT_DISPATCH_FLOATING_TYPES(weights.scalar_type(), "sgd_step_", [&] {
    const cuda::SgdStep<scalar_t> step{weights.mutable_data_ptr<scalar_t>(), gradients.const_data_ptr<scalar_t>(),
                                       velocity ? velocity->mutable_data_ptr<scalar_t>() : nullptr,
                                       numbers.const_data_ptr<double>(), weights.numel()};
    C10_CUDA_CHECK(cuda::run_sgd_step(step, c10::cuda::getCurrentCUDAStream()));
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CUDA, m) {
  m.impl("sgd_step_", &sgd_step_);
}

}  // namespace sweeper
