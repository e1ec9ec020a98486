// Pooled ReLUs on the GPU: checks, memory, and the launch.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "../pool.h"
#include "elements.h"
#include "pool_kernels.h"

namespace sweeper {
namespace {

cuda::PoolShape shape_of(const Pool& pool) {
  const auto side = [](int64_t value) { return static_cast<int>(value); };
  return {side(pool.images),        side(pool.height),       side(pool.width), side(pool.pooled_height),
          side(pool.pooled_width), pool.size, pool.stride, pool.channels};
}

at::Tensor relu_avg_pool(const at::Tensor& x, const at::Tensor& bias, int64_t size, int64_t stride) {
  const Pool pool = checked_pool("relu_avg_pool", x, bias, size, stride);
  const c10::cuda::CUDAGuard guard(x.device());
  const at::Tensor maps = x.contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor y = at::empty({pool.images, pool.channels, pool.pooled_height, pool.pooled_width}, x.options(),
                           at::MemoryFormat::ChannelsLast);
  if (y.numel() == 0) return y;
  const cuda::PoolForward pass{maps.const_data_ptr(), bias.const_data_ptr(), y.mutable_data_ptr()};
  C10_CUDA_CHECK(run_pool_forward(element_of(x), shape_of(pool), pass, c10::cuda::getCurrentCUDAStream()));
  return y;
}

std::tuple<at::Tensor, at::Tensor> relu_avg_pool_backward(
    const at::Tensor& grad, const at::Tensor& x, const at::Tensor& bias, int64_t size, int64_t stride) {
  const char* name = "relu_avg_pool_backward";
  const Pool pool = checked_pool(name, x, bias, size, stride);
  check_pooled_gradient(name, grad, x, pool);
  const c10::cuda::CUDAGuard guard(x.device());
  const at::Tensor maps = x.contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor flowing = grad.contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor result = at::empty(x.sizes(), x.options(), at::MemoryFormat::ChannelsLast);
  at::Tensor to_bias = at::empty_like(bias);
  if (x.numel() == 0) return {result, to_bias.zero_()};
  const cuda::PoolShape shape = shape_of(pool);
  const cuda::Element element = element_of(x);
  const at::Tensor partial = at::empty({pool_partial_bytes(element, shape)}, x.options().dtype(at::kByte));
  const cuda::PoolBackward pass{flowing.const_data_ptr(),  maps.const_data_ptr(),      bias.const_data_ptr(),
                                result.mutable_data_ptr(), to_bias.mutable_data_ptr(), partial.mutable_data_ptr()};
  C10_CUDA_CHECK(run_pool_backward(element, shape, pass, c10::cuda::getCurrentCUDAStream()));
  return {result, to_bias};
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CUDA, m) {
  m.impl("relu_avg_pool", &relu_avg_pool);
  m.impl("relu_avg_pool_backward", &relu_avg_pool_backward);
}

}  // namespace sweeper
