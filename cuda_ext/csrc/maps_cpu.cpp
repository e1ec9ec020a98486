// The gradient of a convolution's weights over maps of many channels on the CPU: torch's own.
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "maps.h"

namespace sweeper {
namespace {

at::Tensor maps_weight_gradient(const at::Tensor& grad, const at::Tensor& input, int64_t kernel, int64_t padding) {
  const MapsShape shape = checked_maps_gradient("maps_weight_gradient", grad, input, kernel, padding);
  const at::Tensor from = input.to(at::kFloat);
  const at::Tensor weight = at::empty({shape.maps, shape.channels, kernel, kernel}, from.options());
  const auto gradients = at::convolution_backward(grad.to(at::kFloat), from, weight, std::nullopt, {1, 1},
                                                  {padding, padding}, {1, 1}, false, {0, 0}, 1, {false, true, false});
  return std::get<1>(gradients).contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CPU, m) {
  m.impl("maps_weight_gradient", &maps_weight_gradient);
}

}  // namespace sweeper
