// Convolutions over pictures of few channels on the CPU: torch's own.
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "picture.h"

namespace sweeper {
namespace {

at::Tensor picture_conv(const at::Tensor& pictures, const at::Tensor& weight, int64_t padding,
                        std::optional<at::ScalarType> dtype) {
  checked_weight("picture_conv", pictures, weight, padding);
  const at::Tensor maps = at::conv2d(pictures, weight, std::nullopt, 1, padding);
  return maps.to(dtype.value_or(at::kFloat)).contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor picture_conv_weight_gradient(const at::Tensor& grad, const at::Tensor& pictures, int64_t kernel,
                                        int64_t padding) {
  const PictureShape shape = checked_maps("picture_conv_weight_gradient", grad, pictures, kernel, padding);
  const at::Tensor weight = at::empty({shape.maps, shape.channels, kernel, kernel}, pictures.options());
  const auto gradients = at::convolution_backward(grad.to(at::kFloat), pictures, weight, std::nullopt, {1, 1},
                                                  {padding, padding}, {1, 1}, false, {0, 0}, 1, {false, true, false});
  return std::get<1>(gradients).contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CPU, m) {
  m.impl("picture_conv", &picture_conv);
  m.impl("picture_conv_weight_gradient", &picture_conv_weight_gradient);
}

}  // namespace sweeper
