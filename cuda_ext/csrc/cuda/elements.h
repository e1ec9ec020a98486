// A tensor's type as kernels name it.
#pragma once

#include <ATen/core/Tensor.h>

#include "dense_kernels.h"

namespace sweeper {

inline cuda::Element element_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat: return cuda::Element::kFloat;
    case at::kDouble: return cuda::Element::kDouble;
    case at::kBFloat16: return cuda::Element::kBFloat16;
    default: return cuda::Element::kHalf;
  }
}

}  // namespace sweeper
