// Pooled ReLUs: one pass over the maps each way, which torch makes in four forward (bias, ReLU, pooling, and the copy
// that its backward pass wants) and three backward.
#include <algorithm>

#include "../windows.h"
#include "activation.cuh"
#include "pool_kernels.h"

namespace sweeper::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostVectors = 64;        // of a block, side by side
constexpr int kMostBlocks = 1056;       // eight on each multiprocessor of the largest GPUs
constexpr int kSumColumns = 32;

template <typename T, int V>
struct alignas(V * sizeof(T)) Vector {
  T value[V];
};

template <typename T, int V>
__device__ Vector<T, V> load(const void* base, int64_t element) {
  return *reinterpret_cast<const Vector<T, V>*>(static_cast<const T*>(base) + element);
}

template <typename T, int V>
__device__ void store(void* base, int64_t element, const Vector<T, V>& vector) {
  *reinterpret_cast<Vector<T, V>*>(static_cast<T*>(base) + element) = vector;
}

// Where a thread works: blocks are `vectors` of channels wide and kThreads / vectors pixels high.
struct Place {
  int64_t channel;
  int line;
  int lines;
  bool idle;
};

template <int V>
__device__ Place place_of(int vectors, int64_t channels) {
  Place place;
  place.lines = kThreads / vectors;
  place.line = threadIdx.x / vectors;
  place.channel = (blockIdx.y * int64_t(vectors) + threadIdx.x % vectors) * V;
  place.idle = place.line >= place.lines || place.channel >= channels;
  return place;
}

// `Size` and `Stride` are the shape's, or 0 where no kernel was made for them.
template <typename T, int V, int Size, int Stride>
__global__ void __launch_bounds__(kThreads)
    pool_forward(const __grid_constant__ PoolShape shape, const __grid_constant__ PoolForward pass, int vectors) {
  using A = accumulator<T>;
  const int size = Size > 0 ? Size : shape.size, stride = Stride > 0 ? Stride : shape.stride;
  const Place place = place_of<V>(vectors, shape.channels);
  if (place.idle) return;
  A bias[V];
#pragma unroll
  for (int e = 0; e < V; ++e) bias[e] = static_cast<const A*>(pass.bias)[place.channel + e];
  const A scale = A(1) / (A(size) * A(size));
  const int count = shape.images * shape.pooled_height * shape.pooled_width;
  for (int64_t at = blockIdx.x * int64_t(place.lines) + place.line; at < count; at += gridDim.x * int64_t(place.lines)) {
    const int window = static_cast<int>(at), j = window % shape.pooled_width, rest = window / shape.pooled_width;
    const int i = rest % shape.pooled_height, image = rest / shape.pooled_height;
    const int64_t corner = (int64_t(image) * shape.height + int64_t(i) * stride) * shape.width + int64_t(j) * stride;
    A sum[V] = {};
#pragma unroll
    for (int row = 0; row < size; ++row)
#pragma unroll
      for (int column = 0; column < size; ++column) {
        const auto x =
            load<T, V>(pass.x, (corner + int64_t(row) * shape.width + column) * shape.channels + place.channel);
#pragma unroll
        for (int e = 0; e < V; ++e) sum[e] += activated(Activation::kRelu, widened(x.value[e]) + bias[e]);
      }
    Vector<T, V> y;
#pragma unroll
    for (int e = 0; e < V; ++e) y.value[e] = narrowed<T>(sum[e] * scale);
    store<T, V>(pass.y, at * shape.channels + place.channel, y);
  }
}

template <typename T, int V, int Size, int Stride>
__global__ void __launch_bounds__(kThreads)
    pool_backward(const __grid_constant__ PoolShape shape, const __grid_constant__ PoolBackward pass, int vectors) {
  using A = accumulator<T>;
  __shared__ A sums[kThreads * V];
  const int size = Size > 0 ? Size : shape.size, stride = Stride > 0 ? Stride : shape.stride;
  const Place place = place_of<V>(vectors, shape.channels);
  A bias[V] = {}, to_bias[V] = {};
  if (!place.idle)
#pragma unroll
    for (int e = 0; e < V; ++e) bias[e] = static_cast<const A*>(pass.bias)[place.channel + e];
  const A scale = A(1) / (A(size) * A(size));
  const int64_t count = place.idle ? 0 : int64_t(shape.images) * shape.height * shape.width;
  for (int64_t at = blockIdx.x * int64_t(place.lines) + place.line; at < count; at += gridDim.x * int64_t(place.lines)) {
    const int pixel = static_cast<int>(at), w = pixel % shape.width, rest = pixel / shape.width;
    const int h = rest % shape.height, image = rest / shape.height;
    const auto x = load<T, V>(pass.x, at * shape.channels + place.channel);
    A flowing[V] = {};
    const Windows rows = windows_over(h, size, stride, shape.pooled_height);
    const Windows columns = windows_over(w, size, stride, shape.pooled_width);
    for (int i = rows.first; i <= rows.last; ++i)
      for (int j = columns.first; j <= columns.last; ++j) {
        const int64_t window = (int64_t(image) * shape.pooled_height + i) * shape.pooled_width + j;
        const auto gradient = load<T, V>(pass.gradient, window * shape.channels + place.channel);
#pragma unroll
        for (int e = 0; e < V; ++e) flowing[e] += widened(gradient.value[e]);
      }
    Vector<T, V> result;
#pragma unroll
    for (int e = 0; e < V; ++e) {
      const A value = through(Activation::kRelu, widened(x.value[e]) + bias[e], flowing[e] * scale);
      result.value[e] = narrowed<T>(value);
      to_bias[e] += value;
    }
    store<T, V>(pass.result, at * shape.channels + place.channel, result);
  }
#pragma unroll
  for (int e = 0; e < V; ++e) sums[threadIdx.x * V + e] = to_bias[e];
  __syncthreads();
  const int width = vectors * V;
  const int64_t first = blockIdx.y * int64_t(width);
  for (int c = threadIdx.x; c < width && first + c < shape.channels; c += kThreads) {
    A total = 0;
    for (int line = 0; line < place.lines; ++line) total += sums[line * width + c];
    static_cast<A*>(pass.partial)[blockIdx.x * shape.channels + first + c] = total;
  }
}

// The bias's gradient from the blocks' sums.
template <typename A>
__global__ void __launch_bounds__(1024) add_blocks(const A* partial, int blocks, int64_t channels, A* to_bias) {
  constexpr int kLines = 1024 / kSumColumns;
  __shared__ A sums[kLines][kSumColumns];
  const int column = threadIdx.x % kSumColumns, line = threadIdx.x / kSumColumns;
  const int64_t channel = blockIdx.x * int64_t(kSumColumns) + column;
  A total = 0;
  if (channel < channels)
#pragma unroll 4
    for (int block = line; block < blocks; block += kLines) total += partial[block * channels + channel];
  sums[line][column] = total;
  __syncthreads();
  if (line > 0 || channel >= channels) return;
  for (int l = 1; l < kLines; ++l) total += sums[l][column];
  to_bias[channel] = total;
}

struct Laid {
  int vectors;   // of a block
  dim3 blocks;
};

Laid lay(int64_t pixels, int64_t channels, int vector) {
  const int64_t all = channels / vector;
  const int vectors = static_cast<int>(std::min<int64_t>(all, kMostVectors)), lines = kThreads / vectors;
  const auto across = static_cast<unsigned>((all + vectors - 1) / vectors);
  const int64_t wanted = std::max<int64_t>(1, kMostBlocks / across);
  return {vectors, dim3(static_cast<unsigned>(std::min((pixels + lines - 1) / lines, wanted)), across)};
}

int element_bytes(Element element) {
  switch (element) {
    case Element::kFloat: return 4;
    case Element::kDouble: return 8;
    default: return 2;
  }
}

bool aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

// Elements of a vector: 16 bytes of them, or one where channels or addresses do not allow it.
int vector_of(int bytes, int64_t channels, bool all_aligned) {
  const int most = 16 / bytes;
  return all_aligned && channels % most == 0 ? most : 1;
}

int64_t pixels_of(const PoolShape& shape) { return int64_t(shape.images) * shape.height * shape.width; }

template <typename T, int V>
void start_forward(const PoolShape& shape, const PoolForward& pass, cudaStream_t stream) {
  const Laid laid = lay(int64_t(shape.images) * shape.pooled_height * shape.pooled_width, shape.channels, V);
  auto* kernel = shape.size == 3 && shape.stride == 2   ? &pool_forward<T, V, 3, 2>
                 : shape.size == 2 && shape.stride == 2 ? &pool_forward<T, V, 2, 2>
                                                        : &pool_forward<T, V, 0, 0>;
  kernel<<<laid.blocks, kThreads, 0, stream>>>(shape, pass, laid.vectors);
}

template <typename T, int V>
void start_backward(const PoolShape& shape, const PoolBackward& pass, cudaStream_t stream) {
  using A = accumulator<T>;
  const Laid laid = lay(pixels_of(shape), shape.channels, V);
  auto* kernel = shape.size == 3 && shape.stride == 2   ? &pool_backward<T, V, 3, 2>
                 : shape.size == 2 && shape.stride == 2 ? &pool_backward<T, V, 2, 2>
                                                        : &pool_backward<T, V, 0, 0>;
  kernel<<<laid.blocks, kThreads, 0, stream>>>(shape, pass, laid.vectors);
  add_blocks<A><<<static_cast<unsigned>((shape.channels + kSumColumns - 1) / kSumColumns), 1024, 0, stream>>>(
      static_cast<const A*>(pass.partial), static_cast<int>(laid.blocks.x), shape.channels, static_cast<A*>(pass.to_bias));
}

template <typename T>
void forward_of(const PoolShape& shape, const PoolForward& pass, cudaStream_t stream) {
  constexpr int kVector = 16 / sizeof(T);
  if (vector_of(sizeof(T), shape.channels, aligned(pass.x) && aligned(pass.y)) == kVector)
    start_forward<T, kVector>(shape, pass, stream);
  else
    start_forward<T, 1>(shape, pass, stream);
}

template <typename T>
void backward_of(const PoolShape& shape, const PoolBackward& pass, cudaStream_t stream) {
  constexpr int kVector = 16 / sizeof(T);
  if (vector_of(sizeof(T), shape.channels, aligned(pass.gradient) && aligned(pass.x) && aligned(pass.result)) == kVector)
    start_backward<T, kVector>(shape, pass, stream);
  else
    start_backward<T, 1>(shape, pass, stream);
}

}  // namespace

cudaError_t run_pool_forward(Element element, const PoolShape& shape, const PoolForward& pass, cudaStream_t stream) {
  switch (element) {
    case Element::kFloat: forward_of<float>(shape, pass, stream); break;
    case Element::kDouble: forward_of<double>(shape, pass, stream); break;
    case Element::kBFloat16: forward_of<__nv_bfloat16>(shape, pass, stream); break;
    case Element::kHalf: forward_of<__half>(shape, pass, stream); break;
  }
  return cudaGetLastError();
}

int64_t pool_partial_bytes(Element element, const PoolShape& shape) {
  const int64_t sum = element == Element::kDouble ? 8 : 4;
  const int vector = vector_of(element_bytes(element), shape.channels, true);
  const int64_t most = std::max(lay(pixels_of(shape), shape.channels, vector).blocks.x,
                                lay(pixels_of(shape), shape.channels, 1).blocks.x);
  return most * shape.channels * sum;
}

cudaError_t run_pool_backward(Element element, const PoolShape& shape, const PoolBackward& pass, cudaStream_t stream) {
  switch (element) {
    case Element::kFloat: backward_of<float>(shape, pass, stream); break;
    case Element::kDouble: backward_of<double>(shape, pass, stream); break;
    case Element::kBFloat16: backward_of<__nv_bfloat16>(shape, pass, stream); break;
    case Element::kHalf: backward_of<__half>(shape, pass, stream); break;
  }
  return cudaGetLastError();
}

}  // namespace sweeper::cuda
