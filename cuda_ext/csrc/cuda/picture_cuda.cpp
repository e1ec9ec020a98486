// Convolutions over pictures of few channels on the GPU: checks, memory, and the launch.
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "../picture.h"
#include "elements.h"
#include "picture_kernels.h"

namespace sweeper {
namespace {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

cuda::PictureConv conv_of(const char* name, const PictureShape& shape) {
  const auto side = [](int64_t value) { return static_cast<int>(value); };
  TORCH_CHECK(shape.images < (int64_t{1} << 31), name, ": ", shape.images, " pictures are too many for one call");
  TORCH_CHECK(cuda::has_tf32(), name, ": needs a GPU with tf32, of Ampere or later");
  return {side(shape.images), side(shape.channels), side(shape.height), side(shape.width),
          side(shape.maps),   side(shape.kernel),   side(shape.padding)};
}

at::Tensor picture_conv(const at::Tensor& pictures, const at::Tensor& weight, int64_t padding,
                        std::optional<at::ScalarType> dtype) {
  const char* name = "picture_conv";
  const PictureShape shape = checked_weight(name, pictures, weight, padding);
  const at::ScalarType type = dtype.value_or(at::kFloat);
  TORCH_CHECK(type == at::kFloat || type == at::kBFloat16, name, ": expected float32 or bfloat16 maps, got ", type);
  const c10::cuda::CUDAGuard guard(pictures.device());
  at::Tensor maps = at::empty({shape.images, shape.maps, shape.out_height(), shape.out_width()},
                              pictures.options().dtype(type), kLast);
  if (maps.numel() == 0) return maps;
  const at::Tensor from = pictures.contiguous(kLast), by = weight.contiguous(kLast);
  C10_CUDA_CHECK(cuda::run_picture_conv(conv_of(name, shape), element_of(maps), from.const_data_ptr<float>(),
                                        by.const_data_ptr<float>(), maps.mutable_data_ptr(),
                                        c10::cuda::getCurrentCUDAStream()));
  return maps;
}

at::Tensor picture_conv_weight_gradient(const at::Tensor& grad, const at::Tensor& pictures, int64_t kernel,
                                        int64_t padding) {
  const char* name = "picture_conv_weight_gradient";
  const PictureShape shape = checked_maps(name, grad, pictures, kernel, padding);
  const c10::cuda::CUDAGuard guard(pictures.device());
  at::Tensor result = at::empty({shape.maps, shape.channels, kernel, kernel}, pictures.options(), kLast);
  if (shape.images == 0) return result.zero_();
  const cuda::PictureConv conv = conv_of(name, shape);
  const at::Tensor flowing = grad.contiguous(kLast), from = pictures.contiguous(kLast);
  const at::Tensor partial = at::empty({cuda::picture_partial_bytes(conv)}, pictures.options().dtype(at::kByte));
  C10_CUDA_CHECK(cuda::run_picture_conv_weight_gradient(
      conv, element_of(flowing), flowing.const_data_ptr(), from.const_data_ptr<float>(),
      result.mutable_data_ptr<float>(), static_cast<float*>(partial.mutable_data_ptr()),
      c10::cuda::getCurrentCUDAStream()));
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CUDA, m) {
  m.impl("picture_conv", &picture_conv);
  m.impl("picture_conv_weight_gradient", &picture_conv_weight_gradient);
}

}  // namespace sweeper
