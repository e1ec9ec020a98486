// What the gradient of a convolution's weights over maps of many channels asks of its arguments, on every device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

namespace sweeper {

// Stride 1.
struct MapsShape {
  int64_t images, channels, height, width, maps;
};

inline MapsShape checked_maps_gradient(const char* name, const at::Tensor& grad, const at::Tensor& input,
                                       int64_t kernel, int64_t padding) {
  TORCH_CHECK(input.dim() == 4 && (input.scalar_type() == at::kFloat || input.scalar_type() == at::kBFloat16), name,
              ": expected float32 or bfloat16 maps [images, channels, height, width], got ", input.dtype(), " ",
              input.sizes());
  TORCH_CHECK(grad.dim() == 4 && grad.scalar_type() == input.scalar_type() && grad.device() == input.device(), name,
              ": expected gradients [images, maps, height, width] of ", input.dtype(), " on ", input.device(), ", got ",
              grad.dtype(), " ", grad.sizes(), " on ", grad.device());
  const MapsShape shape{input.size(0), input.size(1), input.size(2), input.size(3), grad.size(1)};
  TORCH_CHECK(kernel == 3 || kernel == 5, name, ": expected a kernel of 3 x 3 or 5 x 5, got ", kernel);
  TORCH_CHECK(shape.channels % 8 == 0 && shape.channels > 0 && shape.channels <= 64, name,
              ": expected a multiple of 8 channels, at most 64, got ", shape.channels);
  TORCH_CHECK(shape.maps % 32 == 0 && shape.maps > 0, name, ": expected a multiple of 32 maps, got ", shape.maps);
  TORCH_CHECK(padding < kernel, name, ": expected a padding below the kernel's ", kernel, ", got ", padding);
  TORCH_CHECK(padding >= 0 && shape.images < (int64_t{1} << 31), name, ": expected a padding of at least 0, got ", padding);
  const int64_t height = shape.height + 2 * padding - kernel + 1, width = shape.width + 2 * padding - kernel + 1;
  TORCH_CHECK(grad.size(0) == shape.images && grad.size(2) == height && grad.size(3) == width && height > 0 && width > 0,
              name, ": expected gradients of ", shape.images, " images of ", height, " x ", width, ", got ", grad.sizes());
  return shape;
}

}  // namespace sweeper
