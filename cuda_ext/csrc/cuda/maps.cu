// The gradient of a convolution's weights over maps of many channels, as products on the tensor cores: rows are maps,
// columns the values that a row of the kernel meets, and positions are added up.
//
// A block has one row of the kernel. It holds the rows of the input that this row meets, and the gradients there, in
// shared memory; a pixel's channels lie a little apart, so that the lanes of a warp meet different banks.
#include <algorithm>
#include <iterator>
#include <type_traits>

#include "maps_kernels.h"
#include "tf32.cuh"

namespace sweeper::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kBlocksOfEach = 2;                 // multiprocessor
constexpr int kMaps = 32;                        // of a block
constexpr int kAcross = 4;                       // warps that share the columns; the others have other positions
constexpr int kApart = 8;                        // elements between pixels
constexpr int kSharedBytes = 96 * 1024;          // at most; two blocks have to fit

// Rows of the maps go in slices: as many together as fit, and no more than leave something for each block.
struct Slices {
  int count;  // of an image
  int rows;   // of the maps in each, but the last
};

__host__ __device__ inline int input_row(const MapsConv& conv) {
  return (conv.width + 2 * conv.padding) * (conv.channels + kApart);
}

// Positions of a row of the maps, rounded up to whole products.
__host__ __device__ inline int positions(const MapsConv& conv) { return (conv.out_width() + 7) / 8 * 8; }

__host__ __device__ inline int gradient_row(const MapsConv& conv) { return positions(conv) * (kMaps + kApart); }

// Behind the input's rows products of the last positions reach a little further.
__host__ __device__ inline int input_length(const MapsConv& conv, const Slices& slices) {
  return slices.rows * input_row(conv) + 8 * (conv.channels + kApart);
}

__host__ __device__ inline int64_t shared_length(const MapsConv& conv, const Slices& slices) {
  return input_length(conv, slices) + static_cast<int64_t>(slices.rows) * gradient_row(conv);
}

template <typename T>
struct alignas(4 * sizeof(T)) Four {
  T values[4];
};

template <typename T>
__device__ __forceinline__ void store_four(uint32_t* to, const T* from) {
  const Four<T> read = *reinterpret_cast<const Four<T>*>(from);
  *reinterpret_cast<uint4*>(to) = make_uint4(as_tf32(value_of(read.values[0])), as_tf32(value_of(read.values[1])),
                                             as_tf32(value_of(read.values[2])), as_tf32(value_of(read.values[3])));
}

template <typename T>
__device__ __forceinline__ void load_input(uint32_t* to, const T* input, int image, int first, int rows, int r,
                                           const MapsConv& conv) {
  const int fours = conv.channels / 4, count = rows * conv.width * fours;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const int pixel = i / fours, channel = (i - pixel * fours) * 4, row = pixel / conv.width, x = pixel - row * conv.width;
    const int y = first + row + r - conv.padding;
    uint32_t* const at = to + row * input_row(conv) + (x + conv.padding) * (conv.channels + kApart) + channel;
    if (y >= 0 && y < conv.height) {
      store_four(at, input + ((static_cast<int64_t>(image) * conv.height + y) * conv.width + x) * conv.channels + channel);
    } else {
      *reinterpret_cast<uint4*>(at) = make_uint4(0, 0, 0, 0);
    }
  }
}

template <typename T>
__device__ __forceinline__ void load_gradients(uint32_t* to, const T* grad, int image, int first, int rows,
                                               int first_map, const MapsConv& conv) {
  constexpr int kFours = kMaps / 4;
  const int width = conv.out_width(), count = rows * width * kFours;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const int pixel = i / kFours, map = (i - pixel * kFours) * 4, row = pixel / width, x = pixel - row * width;
    const int64_t place = (static_cast<int64_t>(image) * conv.out_height() + first + row) * width + x;
    store_four(to + row * gradient_row(conv) + x * (kMaps + kApart) + map, grad + place * conv.maps + first_map + map);
  }
}

// `Parts` of 8 columns are a warp's.
template <typename T, int Parts>
__global__ void __launch_bounds__(kThreads, kBlocksOfEach)
    maps_kernel(MapsConv conv, Slices slices, const T* grad, const T* input, float* partial) {
  extern __shared__ __align__(16) uint32_t shared[];
  uint32_t* const inputs = shared;
  uint32_t* const gradients = shared + input_length(conv, slices);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const int across = warp % kAcross, down = warp / kAcross;
  const int r = blockIdx.y, first_map = blockIdx.z * kMaps, height = conv.out_height();
  const int pixel = conv.channels + kApart, columns = conv.kernel * conv.channels;
  int offsets[Parts];  // of each part's columns from a position's first pixel
#pragma unroll
  for (int part = 0; part < Parts; ++part) {
    const int column = min((across * Parts + part) * 8, columns - 8);
    offsets[part] = column / conv.channels * pixel + column % conv.channels + g + t * pixel;
  }
  float sums[kMaps / 16][Parts][4] = {};
  for (int i = threadIdx.x; i < shared_length(conv, slices); i += kThreads) shared[i] = 0;
  for (int unit = blockIdx.x; unit < conv.images * slices.count; unit += gridDim.x) {
    const int image = unit / slices.count, first = unit % slices.count * slices.rows;
    const int rows = min(slices.rows, height - first);
    __syncthreads();
    load_input(inputs, input, image, first, rows, r, conv);
    load_gradients(gradients, grad, image, first, rows, first_map, conv);
    __syncthreads();
    for (int y = down; y < rows; y += kWarps / kAcross) {
      for (int x = 0; x < conv.out_width(); x += 8) {
        uint32_t a[kMaps / 16][4];
        const uint32_t* const by = gradients + y * gradient_row(conv) + (x + t) * (kMaps + kApart) + g;
#pragma unroll
        for (int tile = 0; tile < kMaps / 16; ++tile)
#pragma unroll
          for (int place = 0; place < 4; ++place) {
            a[tile][place] = by[place / 2 * 4 * (kMaps + kApart) + tile * 16 + place % 2 * 8];
          }
        const uint32_t* const from = inputs + y * input_row(conv) + x * pixel;
#pragma unroll
        for (int part = 0; part < Parts; ++part) {
          const uint32_t b0 = from[offsets[part]], b1 = from[offsets[part] + 4 * pixel];
#pragma unroll
          for (int tile = 0; tile < kMaps / 16; ++tile) multiply_add(sums[tile][part], a[tile], b0, b1);
        }
      }
    }
  }
  // The lower half of the warps hands its sums to the upper one.
  constexpr int kSums = kMaps / 16 * Parts * 4;
  float* const handed = reinterpret_cast<float*>(shared) + (across * 32 + lane) * kSums;
  __syncthreads();
  if (down == 1) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) handed[i] = (&sums[0][0][0])[i];
  }
  __syncthreads();
  if (down == 1) return;
  float* const to = partial + static_cast<int64_t>(blockIdx.x) * conv.maps * conv.kernel * columns;
#pragma unroll
  for (int tile = 0; tile < kMaps / 16; ++tile)
#pragma unroll
    for (int part = 0; part < Parts; ++part)
#pragma unroll
      for (int place = 0; place < 4; ++place) {
        const int column = (across * Parts + part) * 8 + 2 * t + place % 2;
        const int map = first_map + tile * 16 + g + place / 2 * 8;
        const float sum = sums[tile][part][place] + handed[(tile * Parts + part) * 4 + place];
        if (column < columns) to[(map * conv.kernel + r) * columns + column] = sum;
      }
}

constexpr int kParts[] = {2, 3, 5, 6, 10};  // that there are kernels for

int parts_of(const MapsConv& conv) {
  const int wanted = (conv.kernel * conv.channels / 8 + kAcross - 1) / kAcross;
  return *std::find_if(std::begin(kParts), std::end(kParts) - 1, [&](int parts) { return parts >= wanted; });
}

Slices slices_for(const MapsConv& conv) {
  const int height = conv.out_height();
  const int64_t sums = static_cast<int64_t>(kAcross) * 32 * kMaps / 16 * parts_of(conv) * 4;
  int rows = height;
  const auto bytes = [&] { return std::max(shared_length(conv, {1, rows}), sums) * static_cast<int64_t>(sizeof(float)); };
  while (rows > 1 && bytes() > kSharedBytes) --rows;
  const int blocks = kBlocksOfEach * multiprocessors() / (conv.kernel * (conv.maps / kMaps));
  const int wanted = std::clamp(blocks / std::max(1, conv.images), 1, std::max(1, height / (kWarps / kAcross)));
  rows = std::min(rows, (height + wanted - 1) / wanted);
  return {(height + rows - 1) / rows, rows};
}

int64_t shared_bytes(const MapsConv& conv, const Slices& slices) {
  const int64_t sums = static_cast<int64_t>(kAcross) * 32 * kMaps / 16 * parts_of(conv) * 4;
  return std::max(shared_length(conv, slices), sums) * static_cast<int64_t>(sizeof(float));
}

int blocks_for(const MapsConv& conv, const Slices& slices) {
  const int64_t units = static_cast<int64_t>(conv.images) * slices.count;
  const int most = std::max(1, kBlocksOfEach * multiprocessors() / (conv.kernel * (conv.maps / kMaps)));
  return static_cast<int>(std::min<int64_t>(units, most));
}

template <typename T, int Parts>
cudaError_t launch(const MapsConv& conv, const T* grad, const T* input, float* result, float* partial,
                   cudaStream_t stream) {
  const auto kernel = maps_kernel<T, Parts>;
  const Slices slices = slices_for(conv);
  const int64_t bytes = shared_bytes(conv, slices);
  if (const cudaError_t error = allow_shared(kernel, bytes); error != cudaSuccess) return error;
  const int blocks = blocks_for(conv, slices);
  kernel<<<dim3(blocks, conv.kernel, conv.maps / kMaps), kThreads, bytes, stream>>>(conv, slices, grad, input, partial);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) return error;
  const int columns = conv.kernel * conv.channels;
  return run_add_partial(partial, blocks, conv.maps * conv.kernel * columns, columns, columns, result, stream);
}

template <typename T>
cudaError_t by_parts(const MapsConv& conv, const void* grad, const void* input, float* result, float* partial,
                     cudaStream_t stream) {
  const auto run = [&](auto parts) {
    return launch<T, parts.value>(conv, static_cast<const T*>(grad), static_cast<const T*>(input), result, partial,
                                  stream);
  };
  switch (parts_of(conv)) {
    case kParts[0]: return run(std::integral_constant<int, kParts[0]>());
    case kParts[1]: return run(std::integral_constant<int, kParts[1]>());
    case kParts[2]: return run(std::integral_constant<int, kParts[2]>());
    case kParts[3]: return run(std::integral_constant<int, kParts[3]>());
    default: return run(std::integral_constant<int, kParts[4]>());
  }
}

}  // namespace

bool fits(const MapsConv& conv) { return shared_bytes(conv, {conv.out_height(), 1}) <= kSharedBytes; }

int64_t maps_partial_bytes(const MapsConv& conv) {
  const int64_t weights = static_cast<int64_t>(conv.maps) * conv.kernel * conv.kernel * conv.channels;
  return blocks_for(conv, slices_for(conv)) * weights * static_cast<int64_t>(sizeof(float));
}

cudaError_t run_maps_weight_gradient(const MapsConv& conv, Element element, const void* grad, const void* input,
                                     float* weight_grad, float* partial, cudaStream_t stream) {
  return element == Element::kBFloat16
             ? by_parts<__nv_bfloat16>(conv, grad, input, weight_grad, partial, stream)
             : by_parts<float>(conv, grad, input, weight_grad, partial, stream);
}

}  // namespace sweeper::cuda
