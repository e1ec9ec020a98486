// A step of gradient descent on the CPU.
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include "sgd.h"

namespace sweeper {
namespace {

constexpr int64_t kGrain = 1 << 14;

// As torch's fused kernel computes: products in float64, what is kept in the weights' type.
template <typename T>
void step(T* weights, const T* gradients, T* velocity, const double* numbers, int64_t count) {
  const double rate = numbers[0], momentum = numbers[1], decay = numbers[2];
  at::parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T gradient = gradients[i];
      if (decay != 0) gradient += decay * weights[i];
      if (velocity != nullptr) gradient = velocity[i] = momentum * velocity[i] + gradient;
      weights[i] -= rate * gradient;
    }
  });
}

void sgd_step_(at::Tensor weights, const at::Tensor& gradients, const std::optional<at::Tensor>& velocity,
               const at::Tensor& numbers) {
  check_step(weights, gradients, velocity, numbers);
  AT_DISPATCH_FLOATING_TYPES(weights.scalar_type(), "sgd_step_", [&] {
    step(weights.mutable_data_ptr<scalar_t>(), gradients.const_data_ptr<scalar_t>(),
         velocity ? velocity->mutable_data_ptr<scalar_t>() : nullptr, numbers.const_data_ptr<double>(),
         weights.numel());
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CPU, m) {
  m.impl("sgd_step_", &sgd_step_);
}

}  // namespace sweeper
