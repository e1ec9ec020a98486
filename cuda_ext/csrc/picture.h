// What convolutions over pictures of few channels ask of their arguments, the same on every device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

namespace sweeper {

// Stride 1. `height` and `width` are the pictures', `kernel` a side of the square window, `padding` zeros on each side.
struct PictureShape {
  int64_t images, channels, height, width, maps, kernel, padding;

  int64_t out_height() const { return height + 2 * padding - kernel + 1; }
  int64_t out_width() const { return width + 2 * padding - kernel + 1; }
};

inline PictureShape checked_pictures(const char* name, const at::Tensor& pictures, int64_t maps, int64_t kernel,
                                     int64_t padding) {
  TORCH_CHECK(pictures.dim() == 4 && pictures.scalar_type() == at::kFloat, name,
              ": expected float32 pictures [images, channels, height, width], got ", pictures.dtype(), " ",
              pictures.sizes());
  const PictureShape shape{pictures.size(0), pictures.size(1), pictures.size(2), pictures.size(3), maps, kernel, padding};
  TORCH_CHECK(kernel == 3 || kernel == 5, name, ": expected a kernel of 3 x 3 or 5 x 5, got ", kernel);
  TORCH_CHECK(shape.channels >= 1 && kernel * shape.channels <= 16, name, ": expected at most ", 16 / kernel,
              " channels for a kernel of ", kernel, " x ", kernel, ", got ", shape.channels);
  TORCH_CHECK(maps > 0 && maps % 16 == 0, name, ": expected a multiple of 16 maps, got ", maps);
  TORCH_CHECK(padding < kernel, name, ": expected a padding below the kernel's ", kernel, ", got ", padding);
  TORCH_CHECK(padding >= 0 && shape.out_height() > 0 && shape.out_width() > 0, name, ": pictures of ", shape.height,
              " x ", shape.width, " with padding ", padding, " are smaller than the kernel of ", kernel);
  TORCH_CHECK(shape.height <= 64 && shape.width <= 64, name, ": expected pictures of at most 64 x 64 pixels, got ",
              shape.height, " x ", shape.width);
  return shape;
}

inline PictureShape checked_weight(const char* name, const at::Tensor& pictures, const at::Tensor& weight,
                                   int64_t padding) {
  TORCH_CHECK(weight.dim() == 4 && weight.scalar_type() == at::kFloat && weight.device() == pictures.device(), name,
              ": expected a float32 weight [maps, channels, kernel, kernel] on ", pictures.device(), ", got ",
              weight.dtype(), " ", weight.sizes(), " on ", weight.device());
  const PictureShape shape = checked_pictures(name, pictures, weight.size(0), weight.size(2), padding);
  TORCH_CHECK(weight.size(1) == shape.channels && weight.size(3) == shape.kernel, name, ": expected a weight of ",
              shape.channels, " channels and a square kernel, got ", weight.sizes());
  return shape;
}

inline PictureShape checked_maps(const char* name, const at::Tensor& grad, const at::Tensor& pictures, int64_t kernel,
                                 int64_t padding) {
  TORCH_CHECK(grad.dim() == 4 && grad.device() == pictures.device() &&
                  (grad.scalar_type() == at::kFloat || grad.scalar_type() == at::kBFloat16),
              name, ": expected float32 or bfloat16 gradients [images, maps, height, width] on ", pictures.device(),
              ", got ", grad.dtype(), " ", grad.sizes(), " on ", grad.device());
  const PictureShape shape = checked_pictures(name, pictures, grad.size(1), kernel, padding);
  TORCH_CHECK(grad.size(0) == shape.images && grad.size(2) == shape.out_height() && grad.size(3) == shape.out_width(),
              name, ": expected gradients of ", shape.images, " images of ", shape.out_height(), " x ",
              shape.out_width(), ", got ", grad.sizes());
  return shape;
}

}  // namespace sweeper
