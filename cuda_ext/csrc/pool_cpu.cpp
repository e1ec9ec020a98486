// Pooled ReLUs on the CPU: image by image, a row of windows at a time, so that what a row needs stays in the cache.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "pool.h"
#include "windows.h"

// Compiled for the vectors of several generations of processors; the one that is there is found out when loaded.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SWEEPER_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SWEEPER_VECTORISED
#endif
// What is inlined is compiled as its caller is.
#define SWEEPER_INLINE inline __attribute__((always_inline))
#define SWEEPER_INLINE_LAMBDA __attribute__((always_inline))

namespace sweeper {
namespace {

// The values of `Count` channels; of kLanes, a vector of AVX2, which compilers split where there are only shorter ones.
template <typename A, int Count>
struct Lanes {
  typedef A Type __attribute__((vector_size(Count * sizeof(A))));
};
template <typename A, int Count>
using lanes = typename Lanes<A, Count>::Type;
template <typename A>
constexpr int kLanes = 32 / sizeof(A);
constexpr int kVectors = 4;   // that go together, so that a pixel's memory is read in one go

template <typename T, typename A, int Count>
SWEEPER_INLINE void load(const T* from, lanes<A, Count>& to) {
  if constexpr (std::is_same_v<T, A>) std::memcpy(&to, from, sizeof(to));
  else for (int c = 0; c < Count; ++c) to[c] = static_cast<A>(from[c]);
}

template <typename T, typename A, int Count>
SWEEPER_INLINE void store(T* to, const lanes<A, Count>& from) {
  if constexpr (std::is_same_v<T, A>) std::memcpy(to, &from, sizeof(from));
  else for (int c = 0; c < Count; ++c) to[c] = static_cast<T>(from[c]);
}

// `Vectors` times `Count` channels of a row of windows, of which `x` and `y` are the first's: the mean of relu(x + bias).
// A NaN stays one.
template <int Vectors, int Count, typename T, typename A>
SWEEPER_INLINE void pool_row(const T* x, const A* bias, T* y, const Pool& pool) {
  const A scale = A(1) / (A(pool.size) * pool.size);
  lanes<A, Count> shift[Vectors];
  for (int v = 0; v < Vectors; ++v) load<A, A, Count>(bias + v * Count, shift[v]);
  for (int64_t j = 0; j < pool.pooled_width; ++j) {
    lanes<A, Count> sum[Vectors] = {};
    for (int64_t row = 0; row < pool.size; ++row)
      for (int64_t column = 0; column < pool.size; ++column) {
        const T* at = x + (row * pool.width + j * pool.stride + column) * pool.channels;
        for (int v = 0; v < Vectors; ++v) {
          lanes<A, Count> value;
          load<T, A, Count>(at + v * Count, value);
          value += shift[v];
          sum[v] += value < A(0) ? lanes<A, Count>{} : value;
        }
      }
    for (int v = 0; v < Vectors; ++v) store<T, A, Count>(y + j * pool.channels + v * Count, sum[v] * scale);
  }
}

// The same of a row of pixels: the gradient before ReLU, which gives none to what it cut off, and its sum.
template <int Vectors, int Count, typename T, typename A>
SWEEPER_INLINE void differentiate_row(const T* grad, const T* x, const A* bias, T* result, A* to_bias, Windows rows,
                                      const Pool& pool) {
  const A scale = A(1) / (A(pool.size) * pool.size);
  lanes<A, Count> shift[Vectors], total[Vectors];
  for (int v = 0; v < Vectors; ++v) {
    load<A, A, Count>(bias + v * Count, shift[v]);
    load<A, A, Count>(to_bias + v * Count, total[v]);
  }
  for (int64_t w = 0; w < pool.width; ++w) {
    const Windows columns =
        windows_over(static_cast<int>(w), pool.size, pool.stride, static_cast<int>(pool.pooled_width));
    lanes<A, Count> flowing[Vectors] = {}, value;
    for (int64_t i = rows.first; i <= rows.last; ++i)
      for (int64_t j = columns.first; j <= columns.last; ++j)
        for (int v = 0; v < Vectors; ++v) {
          load<T, A, Count>(grad + (i * pool.pooled_width + j) * pool.channels + v * Count, value);
          flowing[v] += value;
        }
    const int64_t at = w * pool.channels;
    for (int v = 0; v < Vectors; ++v) {
      load<T, A, Count>(x + at + v * Count, value);
      value = value + shift[v] > A(0) ? flowing[v] * scale : lanes<A, Count>{};
      store<T, A, Count>(result + at + v * Count, value);
      total[v] += value;
    }
  }
  for (int v = 0; v < Vectors; ++v) store<A, A, Count>(to_bias + v * Count, total[v]);
}

// Calls `row` for groups of channels, with the first channel and, as constants, how many vectors of how many it is for.
template <typename A, typename Row>
SWEEPER_INLINE void in_groups(int64_t channels, const Row& row) {
  constexpr int kWide = kVectors * kLanes<A>;
  using One = std::integral_constant<int, 1>;
  int64_t c = 0;
  for (; c + kWide <= channels; c += kWide)
    row(c, std::integral_constant<int, kVectors>{}, std::integral_constant<int, kLanes<A>>{});
  for (; c + kLanes<A> <= channels; c += kLanes<A>) row(c, One{}, std::integral_constant<int, kLanes<A>>{});
  for (; c < channels; ++c) row(c, One{}, One{});
}

template <typename T>
SWEEPER_VECTORISED void pool_image(const T* x, const at::opmath_type<T>* bias, T* y, const Pool& pool) {
  for (int64_t i = 0; i < pool.pooled_height; ++i) {
    const T* from = x + i * pool.stride * pool.width * pool.channels;
    T* to = y + i * pool.pooled_width * pool.channels;
    in_groups<at::opmath_type<T>>(pool.channels, [&](int64_t c, auto vectors, auto count) SWEEPER_INLINE_LAMBDA {
      pool_row<vectors.value, count.value>(from + c, bias + c, to + c, pool);
    });
  }
}

template <typename T>
SWEEPER_VECTORISED void differentiate_image(const T* grad, const T* x, const at::opmath_type<T>* bias, T* result,
                                            at::opmath_type<T>* to_bias, const Pool& pool) {
  for (int64_t h = 0; h < pool.height; ++h) {
    const Windows rows = windows_over(static_cast<int>(h), pool.size, pool.stride, static_cast<int>(pool.pooled_height));
    const int64_t row = h * pool.width * pool.channels;
    in_groups<at::opmath_type<T>>(pool.channels, [&](int64_t c, auto vectors, auto count) SWEEPER_INLINE_LAMBDA {
      differentiate_row<vectors.value, count.value>(grad + c, x + row + c, bias + c, result + row + c, to_bias + c, rows,
                                                    pool);
    });
  }
}

at::Tensor relu_avg_pool(const at::Tensor& x, const at::Tensor& bias, int64_t size, int64_t stride) {
  const Pool pool = checked_pool("relu_avg_pool", x, bias, size, stride);
  const at::Tensor maps = x.contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor y = at::empty({pool.images, pool.channels, pool.pooled_height, pool.pooled_width}, x.options(),
                           at::MemoryFormat::ChannelsLast);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, x.scalar_type(), "relu_avg_pool", [&] {
    const auto* from = maps.const_data_ptr<scalar_t>();
    const auto* shifts = bias.const_data_ptr<at::opmath_type<scalar_t>>();
    auto* to = y.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, pool.images, 1, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image)
        pool_image(from + image * pool.height * pool.width * pool.channels, shifts,
                   to + image * pool.pooled_height * pool.pooled_width * pool.channels, pool);
    });
  });
  return y;
}

// The bias's gradient is added up image by image, and so the same with any number of threads.
std::tuple<at::Tensor, at::Tensor> relu_avg_pool_backward(
    const at::Tensor& grad, const at::Tensor& x, const at::Tensor& bias, int64_t size, int64_t stride) {
  const char* name = "relu_avg_pool_backward";
  const Pool pool = checked_pool(name, x, bias, size, stride);
  check_pooled_gradient(name, grad, x, pool);
  const at::Tensor maps = x.contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor flowing = grad.contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor result = at::empty(x.sizes(), x.options(), at::MemoryFormat::ChannelsLast);
  at::Tensor to_bias = at::empty_like(bias);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, x.scalar_type(), "relu_avg_pool_backward", [&] {
    using A = at::opmath_type<scalar_t>;
    const int64_t in = pool.height * pool.width * pool.channels;
    const int64_t out = pool.pooled_height * pool.pooled_width * pool.channels;
    std::vector<A> shares(pool.images * pool.channels);
    const auto* gradients = flowing.const_data_ptr<scalar_t>();
    const auto* from = maps.const_data_ptr<scalar_t>();
    const auto* shifts = bias.const_data_ptr<A>();
    auto* to = result.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, pool.images, 1, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image)
        differentiate_image(gradients + image * out, from + image * in, shifts, to + image * in,
                            shares.data() + image * pool.channels, pool);
    });
    auto* sums = to_bias.mutable_data_ptr<A>();
    std::fill_n(sums, pool.channels, A(0));
    for (int64_t image = 0; image < pool.images; ++image)
      for (int64_t c = 0; c < pool.channels; ++c) sums[c] += shares[image * pool.channels + c];
  });
  return {result, to_bias};
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CPU, m) {
  m.impl("relu_avg_pool", &relu_avg_pool);
  m.impl("relu_avg_pool_backward", &relu_avg_pool_backward);
}

}  // namespace sweeper
