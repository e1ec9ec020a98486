// Convolutions over pictures of few channels, which the library pads to many: forward, and the gradient of the weights.
//
// A block holds a picture, or a slice of its rows, in shared memory, with its border of zeros. In a row of a picture a window's columns and
// channels lie one after another, so the K * channels values that a row of the kernel meets at position x begin at
// x * channels: products on the tensor cores read them there, unfolded by their addresses alone, up to 16 of them; what
// is read beyond meets zeros, or is not kept.
#include <algorithm>
#include <type_traits>

#include "picture_kernels.h"
#include "tf32.cuh"

namespace sweeper::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kBlocksOfEach = 2;   // multiprocessor

__device__ __forceinline__ void store_pair(float* to, float first, float second) {
  *reinterpret_cast<float2*>(to) = make_float2(first, second);
}
__device__ __forceinline__ void store_pair(__nv_bfloat16* to, float first, float second) {
  *reinterpret_cast<__nv_bfloat162*>(to) = __floats2bfloat162_rn(first, second);
}

__host__ __device__ inline int row_length(const PictureConv& conv) {
  return (conv.width + 2 * conv.padding) * conv.channels;
}

// Few pictures are cut into slices of rows of the maps, so that all multiprocessors have something to do.
struct Slices {
  int count;  // of a picture
  int rows;   // of the maps in each, but the last
};

// Elements of a slice with its border, and of zeros behind it that tiles may reach into.
__host__ __device__ inline int slice_length(const PictureConv& conv, const Slices& slices) {
  return (slices.rows + conv.kernel - 1) * row_length(conv) + 16 * conv.channels + 32;
}

// Which rows of which picture a unit of work is about.
struct Unit {
  int image, first, end;  // rows of the maps

  __device__ Unit(int number, const PictureConv& conv, const Slices& slices)
      : image(number / slices.count),
        first(number % slices.count * slices.rows),
        end(min(first + slices.rows, conv.out_height())) {}
};

__device__ __forceinline__ void clear(uint32_t* picture, const PictureConv& conv, const Slices& slices) {
  for (int i = threadIdx.x; i < slice_length(conv, slices); i += kThreads) picture[i] = 0;
}

// The rows of a picture that a unit's windows meet; row 0 in memory is that of its first windows.
__device__ __forceinline__ void load(uint32_t* picture, const float* pictures, const Unit& unit,
                                     const PictureConv& conv, const Slices& slices) {
  const int row = conv.width * conv.channels, stride = row_length(conv), above = unit.first - conv.padding;
  const float* from = pictures + static_cast<int64_t>(unit.image) * conv.height * row;
  const int length = (slices.rows + conv.kernel - 1) * row;
  for (int i = threadIdx.x; i < length; i += kThreads) {
    const int y = i / row, x = i - y * row, source = above + y;
    const float value = source >= 0 && source < conv.height ? from[source * row + x] : 0.0f;
    picture[y * stride + conv.padding * conv.channels + x] = as_tf32(value);
  }
}

// Rows of products are 16 positions of a row of the maps, columns `Maps` of the maps; `Parts` of 8 values each make the
// window's row.
template <typename Out, int K, int Parts, int Maps>
__global__ void __launch_bounds__(kThreads, kBlocksOfEach)
    conv_kernel(PictureConv conv, Slices slices, const float* pictures, const float* weight, Out* out) {
  extern __shared__ uint32_t picture[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const int channels = conv.channels, row = K * channels, first_map = blockIdx.y * Maps;
  uint32_t b[K][Parts][Maps / 8][2];
#pragma unroll
  for (int r = 0; r < K; ++r)
#pragma unroll
    for (int part = 0; part < Parts; ++part)
#pragma unroll
      for (int tile = 0; tile < Maps / 8; ++tile)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int j = part * 8 + half * 4 + t, map = first_map + tile * 8 + g;
          b[r][part][tile][half] = j < row ? as_tf32(weight[(map * K + r) * row + j]) : 0;
        }
  clear(picture, conv, slices);
  const int height = conv.out_height(), width = conv.out_width(), across = (width + 15) / 16;
  const int stride = row_length(conv);
  for (int number = blockIdx.x; number < conv.images * slices.count; number += gridDim.x) {
    const Unit unit(number, conv, slices);
    __syncthreads();
    load(picture, pictures, unit, conv, slices);
    __syncthreads();
    for (int tile = warp; tile < (unit.end - unit.first) * across; tile += kWarps) {
      const int y = tile / across, x = tile % across * 16 + g;
      float sums[Maps / 8][4] = {};
#pragma unroll
      for (int r = 0; r < K; ++r)
#pragma unroll
        for (int part = 0; part < Parts; ++part) {
          const uint32_t* at = picture + (y + r) * stride + x * channels + part * 8 + t;
          const uint32_t a[4] = {at[0], at[8 * channels], at[4], at[8 * channels + 4]};
#pragma unroll
          for (int n = 0; n < Maps / 8; ++n) multiply_add(sums[n], a, b[r][part][n][0], b[r][part][n][1]);
        }
      const int64_t place = (static_cast<int64_t>(unit.image) * height + unit.first + y) * width + x;
      Out* to = out + place * conv.maps + first_map + 2 * t;
#pragma unroll
      for (int n = 0; n < Maps / 8; ++n) {
        if (x < width) store_pair(to + n * 8, sums[n][0], sums[n][1]);
        if (x + 8 < width) store_pair(to + 8 * conv.maps + n * 8, sums[n][2], sums[n][3]);
      }
    }
  }
}

// Of 8 positions from `at` on, `left` of which there are, the gradients of `Maps` maps as rows of a product.
template <typename In, int Maps>
__device__ __forceinline__ void load_gradients(uint32_t (&a)[Maps / 16][4], const In* at, int left, int maps, int t) {
#pragma unroll
  for (int tile = 0; tile < Maps / 16; ++tile)
#pragma unroll
    for (int place = 0; place < 4; ++place) {
      const int x = t + place / 2 * 4;
      a[tile][place] = x < left ? as_tf32(value_of(at[x * maps + tile * 16 + place % 2 * 8])) : 0;
    }
}

// Calls `act` for each sum that a lane has, with its place among [Maps, K * Parts * 8].
template <int K, int Parts, int Maps, typename Act>
__device__ __forceinline__ void each_sum(int g, int t, Act act) {
#pragma unroll
  for (int tile = 0; tile < Maps / 16; ++tile)
#pragma unroll
    for (int column = 0; column < K * Parts; ++column)
#pragma unroll
      for (int place = 0; place < 4; ++place) {
        const int row = tile * 16 + g + place / 2 * 8;
        act(tile, column, place, row * K * Parts * 8 + column * 8 + 2 * t + place % 2);
      }
}

// Rows of products are `Maps` of the maps, columns the values of a window, and positions are added up.
template <typename In, int K, int Parts, int Maps>
__global__ void __launch_bounds__(kThreads, kBlocksOfEach)
    gradient_kernel(PictureConv conv, Slices slices, const In* grad, const float* pictures, float* partial) {
  extern __shared__ uint32_t picture[];
  constexpr int kColumns = K * Parts * 8;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const int channels = conv.channels, first_map = blockIdx.y * Maps, stride = row_length(conv);
  const int height = conv.out_height(), width = conv.out_width(), maps = conv.maps;
  float sums[Maps / 16][K * Parts][4] = {};
  clear(picture, conv, slices);
  for (int number = blockIdx.x; number < conv.images * slices.count; number += gridDim.x) {
    const Unit unit(number, conv, slices);
    __syncthreads();
    load(picture, pictures, unit, conv, slices);
    __syncthreads();
    for (int y = warp; y < unit.end - unit.first; y += kWarps) {
      const int64_t row = static_cast<int64_t>(unit.image) * height + unit.first + y;
      const In* at = grad + row * width * maps + first_map + g;
      uint32_t next[Maps / 16][4];
      load_gradients<In, Maps>(next, at, width, maps, t);
      for (int x = 0; x < width; x += 8) {
        uint32_t a[Maps / 16][4];
#pragma unroll
        for (int tile = 0; tile < Maps / 16; ++tile)
#pragma unroll
          for (int place = 0; place < 4; ++place) a[tile][place] = next[tile][place];
        load_gradients<In, Maps>(next, at + static_cast<int64_t>(x + 8) * maps, width - x - 8, maps, t);
#pragma unroll
        for (int r = 0; r < K; ++r)
#pragma unroll
          for (int part = 0; part < Parts; ++part) {
            const uint32_t* from = picture + (y + r) * stride + (x + t) * channels + part * 8 + g;
            const uint32_t b0 = from[0], b1 = from[4 * channels];
#pragma unroll
            for (int tile = 0; tile < Maps / 16; ++tile) multiply_add(sums[tile][r * Parts + part], a[tile], b0, b1);
          }
      }
    }
  }
  // Halves of the warps hand their sums to the others, until one has all.
  constexpr int kSums = Maps * kColumns;
  float* const handed = reinterpret_cast<float*>(picture);
  for (int takers = kWarps / 2; takers > 0; takers /= 2) {
    __syncthreads();
    if (warp >= takers && warp < 2 * takers) {
      each_sum<K, Parts, Maps>(g, t, [&](int tile, int column, int place, int at) {
        handed[(warp - takers) * kSums + at] = sums[tile][column][place];
      });
    }
    __syncthreads();
    if (warp < takers) {
      each_sum<K, Parts, Maps>(g, t, [&](int tile, int column, int place, int at) {
        sums[tile][column][place] += handed[warp * kSums + at];
      });
    }
  }
  if (warp != 0) return;
  float* const to = partial + (static_cast<int64_t>(blockIdx.x) * maps + first_map) * kColumns;
  each_sum<K, Parts, Maps>(
      g, t, [&](int tile, int column, int place, int at) { to[at] = sums[tile][column][place]; });
}

// As many slices as there are blocks for, of a row for each warp at least.
Slices slices_for(const PictureConv& conv) {
  const int most = std::max(1, conv.out_height() / kWarps);
  const int wanted = std::clamp(kBlocksOfEach * multiprocessors() / std::max(1, conv.images), 1, most);
  const int rows = (conv.out_height() + wanted - 1) / wanted;
  return {(conv.out_height() + rows - 1) / rows, rows};
}

int blocks_for(const PictureConv& conv, const Slices& slices) {
  const int64_t units = static_cast<int64_t>(conv.images) * slices.count;
  return static_cast<int>(std::min<int64_t>(units, kBlocksOfEach * multiprocessors()));
}

int parts_of(const PictureConv& conv) { return conv.kernel * conv.channels <= 8 ? 1 : 2; }

int maps_of(const PictureConv& conv) { return conv.maps % 32 == 0 ? 32 : 16; }

int64_t shared_bytes(const PictureConv& conv, const Slices& slices, int sums) {
  return std::max<int64_t>(slice_length(conv, slices), sums) * static_cast<int64_t>(sizeof(float));
}

template <typename Out, int K, int Parts, int Maps>
cudaError_t launch_conv(const PictureConv& conv, const float* pictures, const float* weight, void* maps,
                        cudaStream_t stream) {
  const auto kernel = conv_kernel<Out, K, Parts, Maps>;
  const Slices slices = slices_for(conv);
  const int64_t bytes = shared_bytes(conv, slices, 0);
  if (const cudaError_t error = allow_shared(kernel, bytes); error != cudaSuccess) return error;
  const dim3 grid(blocks_for(conv, slices), conv.maps / Maps);
  kernel<<<grid, kThreads, bytes, stream>>>(conv, slices, pictures, weight, static_cast<Out*>(maps));
  return cudaGetLastError();
}

template <typename In, int K, int Parts, int Maps>
cudaError_t launch_gradient(const PictureConv& conv, const void* grad, const float* pictures, float* result,
                            float* partial, cudaStream_t stream) {
  const auto kernel = gradient_kernel<In, K, Parts, Maps>;
  const Slices slices = slices_for(conv);
  const int columns = K * Parts * 8, blocks = blocks_for(conv, slices);
  const int64_t bytes = shared_bytes(conv, slices, kWarps / 2 * Maps * columns);
  if (const cudaError_t error = allow_shared(kernel, bytes); error != cudaSuccess) return error;
  kernel<<<dim3(blocks, conv.maps / Maps), kThreads, bytes, stream>>>(conv, slices, static_cast<const In*>(grad),
                                                                      pictures, partial);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  const int count = conv.maps * columns;  // rows of the kernel's rows, each of Parts * 8
  return run_add_partial(partial, blocks, count, Parts * 8, K * conv.channels, result, stream);
}

// Calls `run` with what is fixed when a kernel is compiled: its element, its window, how that is cut, maps of a block.
template <typename Element, typename Run>
cudaError_t by_shape(const PictureConv& conv, Run run) {
  const auto by_maps = [&](auto kernel, auto parts) {
    return maps_of(conv) == 32 ? run.template operator()<Element, kernel.value, parts.value, 32>()
                               : run.template operator()<Element, kernel.value, parts.value, 16>();
  };
  const auto by_parts = [&](auto kernel) {
    return parts_of(conv) == 1 ? by_maps(kernel, std::integral_constant<int, 1>())
                               : by_maps(kernel, std::integral_constant<int, 2>());
  };
  return conv.kernel == 3 ? by_parts(std::integral_constant<int, 3>()) : by_parts(std::integral_constant<int, 5>());
}

}  // namespace

bool has_tf32() {
  int device = 0, major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  return major >= 8;
}

cudaError_t run_picture_conv(const PictureConv& conv, Element element, const float* pictures, const float* weight,
                             void* maps, cudaStream_t stream) {
  const auto run = [&]<typename Out, int K, int Parts, int Maps>() {
    return launch_conv<Out, K, Parts, Maps>(conv, pictures, weight, maps, stream);
  };
  return element == Element::kBFloat16 ? by_shape<__nv_bfloat16>(conv, run) : by_shape<float>(conv, run);
}

int64_t picture_partial_bytes(const PictureConv& conv) {
  return static_cast<int64_t>(blocks_for(conv, slices_for(conv))) * conv.maps * conv.kernel * parts_of(conv) * 8 * sizeof(float);
}

cudaError_t run_picture_conv_weight_gradient(const PictureConv& conv, Element element, const void* grad,
                                             const float* pictures, float* weight_grad, float* partial,
                                             cudaStream_t stream) {
  const auto run = [&]<typename In, int K, int Parts, int Maps>() {
    return launch_gradient<In, K, Parts, Maps>(conv, grad, pictures, weight_grad, partial, stream);
  };
  return element == Element::kBFloat16 ? by_shape<__nv_bfloat16>(conv, run) : by_shape<float>(conv, run);
}

}  // namespace sweeper::cuda
