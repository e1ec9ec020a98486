// The gradient of a convolution's weights over maps of many channels on the GPU: checks, memory, and the launch.
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "../maps.h"
#include "elements.h"
#include "maps_kernels.h"
#include "picture_kernels.h"

namespace sweeper {
namespace {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

at::Tensor maps_weight_gradient(const at::Tensor& grad, const at::Tensor& input, int64_t kernel, int64_t padding) {
  const char* name = "maps_weight_gradient";
  const MapsShape shape = checked_maps_gradient(name, grad, input, kernel, padding);
  const c10::cuda::CUDAGuard guard(input.device());
  at::Tensor result = at::empty({shape.maps, shape.channels, kernel, kernel}, input.options().dtype(at::kFloat), kLast);
  if (shape.images == 0) return result.zero_();
  const auto side = [](int64_t value) { return static_cast<int>(value); };
  const cuda::MapsConv conv{side(shape.images), side(shape.channels), side(shape.height), side(shape.width),
                            side(shape.maps),   side(kernel),         side(padding)};
  TORCH_CHECK(cuda::has_tf32(), name, ": needs a GPU with tf32, of Ampere or later");
  TORCH_CHECK(cuda::fits(conv), name, ": rows of ", shape.width, " pixels of ", shape.channels, " channels are too long");
  const at::Tensor flowing = grad.contiguous(kLast), from = input.contiguous(kLast);
  for (const at::Tensor& read : {flowing, from}) {
    TORCH_CHECK(reinterpret_cast<uintptr_t>(read.const_data_ptr()) % 16 == 0, name,
                ": expected maps aligned to 16 bytes; pass a clone of the view");
  }
  const at::Tensor partial = at::empty({cuda::maps_partial_bytes(conv)}, input.options().dtype(at::kByte));
  C10_CUDA_CHECK(cuda::run_maps_weight_gradient(conv, element_of(input), flowing.const_data_ptr(),
                                                from.const_data_ptr(), result.mutable_data_ptr<float>(),
                                                static_cast<float*>(partial.mutable_data_ptr()),
                                                c10::cuda::getCurrentCUDAStream()));
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CUDA, m) {
  m.impl("maps_weight_gradient", &maps_weight_gradient);
}

}  // namespace sweeper
