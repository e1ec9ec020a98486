// What pooled ReLUs ask of their arguments, the same on every device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>

#include "shift.h"

namespace sweeper {

// Windows of `size` x `size` pixels, `stride` apart, without padding, over maps that lie channels last in memory.
struct Pool {
  int64_t images;
  int64_t channels;
  int64_t height;
  int64_t width;
  int64_t pooled_height;
  int64_t pooled_width;
  int size;
  int stride;

  int64_t pixels() const { return images * height * width; }
};

inline Pool checked_pool(const char* name, const at::Tensor& x, const at::Tensor& bias, int64_t size, int64_t stride) {
  check_element_type(name, x);
  TORCH_CHECK(x.dim() == 4, name, ": expected maps [images, channels, height, width], got sizes ", x.sizes());
  const auto sums = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  TORCH_CHECK(bias.dim() == 1 && bias.size(0) == x.size(1) && bias.is_contiguous(), name, ": expected a dense bias [",
              x.size(1), "], one for each channel, got sizes ", bias.sizes(), " and strides ", bias.strides());
  TORCH_CHECK(bias.scalar_type() == sums && bias.device() == x.device(), name, ": expected a bias of type ", sums, " on ",
              x.device(), ", got ", bias.dtype(), " on ", bias.device());
  const int64_t most = std::min(x.size(2), x.size(3));
  TORCH_CHECK(size >= 1 && size <= most, name, ": expected size from 1 to ", most, ", the maps' shorter side, got ", size);
  TORCH_CHECK(stride >= 1 && stride <= std::numeric_limits<int>::max(), name, ": expected stride >= 1, got ", stride);
  const Pool pool{x.size(0),
                  x.size(1),
                  x.size(2),
                  x.size(3),
                  (x.size(2) - size) / stride + 1,
                  (x.size(3) - size) / stride + 1,
                  static_cast<int>(size),
                  static_cast<int>(stride)};
  TORCH_CHECK(pool.pixels() <= std::numeric_limits<int>::max(), name, ": expected at most 2^31 - 1 pixels in all, got ",
              pool.pixels(), "; take fewer images at once");
  return pool;
}

inline void check_pooled_gradient(const char* name, const at::Tensor& grad, const at::Tensor& x, const Pool& pool) {
  TORCH_CHECK(grad.dim() == 4 && grad.size(0) == pool.images && grad.size(1) == pool.channels &&
                  grad.size(2) == pool.pooled_height && grad.size(3) == pool.pooled_width,
              name, ": expected a gradient [", pool.images, ", ", pool.channels, ", ", pool.pooled_height, ", ",
              pool.pooled_width, "], got sizes ", grad.sizes());
  TORCH_CHECK(grad.scalar_type() == x.scalar_type() && grad.device() == x.device(), name, ": expected a gradient of type ",
              x.dtype(), " on ", x.device(), ", got ", grad.dtype(), " on ", grad.device());
}

}  // namespace sweeper
