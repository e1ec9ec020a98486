// What a step of gradient descent asks of its arguments, the same on every device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <optional>

namespace sweeper {

inline void check_step(const at::Tensor& weights, const at::Tensor& gradients,
                       const std::optional<at::Tensor>& velocity, const at::Tensor& numbers) {
  const auto type = weights.scalar_type();
  TORCH_CHECK(type == at::kFloat || type == at::kDouble, "sgd_step_: expected float32 or float64 weights, got ",
              weights.dtype());
  const auto check_like = [&](const char* name, const at::Tensor& tensor) {
    TORCH_CHECK(tensor.scalar_type() == type && tensor.device() == weights.device(), "sgd_step_: expected ", name,
                " of ", weights.dtype(), " on ", weights.device(), ", got ", tensor.dtype(), " on ", tensor.device());
    TORCH_CHECK(tensor.sizes() == weights.sizes() && tensor.is_contiguous(), "sgd_step_: expected contiguous ", name,
                " of sizes ", weights.sizes(), ", got sizes ", tensor.sizes(), " and strides ", tensor.strides());
  };
  check_like("weights", weights);
  check_like("gradients", gradients);
  if (velocity) check_like("velocity", *velocity);
  TORCH_CHECK(numbers.scalar_type() == at::kDouble && numbers.device() == weights.device() &&
                  numbers.is_contiguous() && numbers.dim() == 1 && numbers.numel() == 3,
              "sgd_step_: expected numbers (rate, momentum, decay) as float64 [3] on ", weights.device(), ", got ",
              numbers.dtype(), " ", numbers.sizes(), " on ", numbers.device());
}

}  // namespace sweeper
