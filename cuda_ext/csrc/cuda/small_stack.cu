// A stack of small layers in one launch: each block takes a few rows through all layers, in shared memory.
//
// What such a pass costs is waiting for memory, so a block asks for all it will need at once: its rows, every weight,
// and in the backward pass what every activation kept.
#include <algorithm>

#include "activation.cuh"

namespace sweeper::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kLanes = 8;                     // threads that share one sum
constexpr int kSums = kThreads / kLanes;      // sums at once
constexpr int kBatch = 8;                     // loads that a thread has under way
constexpr int kMostShared = 56 * 1024;   // within what the smallest multiprocessor gives a block
constexpr int kMostSegments = 2 * kMostLayers + 2;

// Weights lie in shared memory by rows of this many elements, so that neither storing them nor either product along them
// meets in a bank.
__host__ __device__ constexpr int pitch_of(int64_t inputs) {
  return static_cast<int>((1 + inputs - 9 + 31) / 32 * 32 + 9);
}

// Rows of activations: all of one width.
__host__ __device__ constexpr int row_pitch(int64_t widest) { return static_cast<int>(widest) + 1; }

// A matrix to be brought in: element (i, j) from data + i * along_i + j * along_j to `to` + i * pitch + j.
template <typename T>
struct Segment {
  const T* data;
  int64_t along_i, along_j;
  int rows, columns;
  int there;             // rows that there are; further ones repeat the last
  accumulator<T>* to;
  int pitch;
};

template <typename T>
__device__ Segment<T> segment_of(const View& view, int64_t from_row, int rows, int there, int64_t columns,
                                 accumulator<T>* to, int pitch) {
  return {static_cast<const T*>(view.data) + from_row * view.row, view.row, view.column, rows,
          static_cast<int>(columns), there, to, pitch};
}

// Brings in all segments, kBatch elements a thread at a time, whatever segments they are of.
template <typename T>
__device__ void bring(const Segment<T>* segments, int count) {
  int total = 0;
  for (int s = 0; s < count; ++s) total += segments[s].rows * segments[s].columns;
  for (int base = 0; base < total; base += kThreads * kBatch) {
    T value[kBatch];
    accumulator<T>* to[kBatch];
#pragma unroll
    for (int e = 0; e < kBatch; ++e) {
      int index = min(base + e * kThreads + static_cast<int>(threadIdx.x), total - 1);
      int s = 0;
      while (index >= segments[s].rows * segments[s].columns) index -= segments[s].rows * segments[s].columns, ++s;
      const Segment<T>& segment = segments[s];
      const bool by_rows = segment.along_j == 1;   // neighbouring threads read what lies together
      const int i = by_rows ? index / segment.columns : index % segment.rows;
      const int j = by_rows ? index % segment.columns : index / segment.rows;
      value[e] = segment.data[min(i, segment.there - 1) * segment.along_i + j * segment.along_j];
      to[e] = segment.to + i * segment.pitch + j;
    }
#pragma unroll
    for (int e = 0; e < kBatch; ++e)
      if (base + e * kThreads + static_cast<int>(threadIdx.x) < total) *to[e] = widened(value[e]);
  }
}

template <typename A, int R>
__device__ void add_lanes(A (&sum)[R]) {
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int offset = kLanes / 2; offset > 0; offset /= 2) sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], offset);
}

// Every lane has all sums; lane r deals with row r.
template <typename A, int R>
__device__ A own_sum(const A (&sum)[R], int lane) {
  A own = sum[0];
#pragma unroll
  for (int r = 1; r < R; ++r) own = lane == r ? sum[r] : own;
  return own;
}

template <typename T, int R>
__global__ void __launch_bounds__(kThreads) forward_rows(const __grid_constant__ SmallStack stack, int pitch) {
  using A = accumulator<T>;
  static_assert(R <= kLanes);
  extern __shared__ __align__(16) unsigned char storage[];
  __shared__ Segment<T> segments[kMostSegments];
  A* values = reinterpret_cast<A*>(storage);
  A* results = values + R * pitch;
  A* weights = results + R * pitch;
  const int64_t row0 = blockIdx.x * int64_t(R);
  const int there = static_cast<int>(min(int64_t(R), stack.rows - row0));
  if (threadIdx.x == 0) {
    segments[0] = segment_of<T>(stack.input, row0, R, there, stack.layers[0].inputs, values, pitch);
    A* to = weights;
    for (int l = 0; l < stack.count; ++l) {
      const Layer& layer = stack.layers[l];
      const int outputs = static_cast<int>(layer.outputs);
      segments[l + 1] = segment_of<T>(layer.weight, 0, outputs, outputs, 1 + layer.inputs, to, pitch_of(layer.inputs));
      to += outputs * pitch_of(layer.inputs);
    }
  }
  __syncthreads();
  bring(segments, stack.count + 1);
  __syncthreads();
  const int lane = threadIdx.x % kLanes;
  for (int l = 0; l < stack.count; ++l) {
    const Layer& layer = stack.layers[l];
    const int inputs = static_cast<int>(layer.inputs), outputs = static_cast<int>(layer.outputs);
    for (int first = 0; first < outputs; first += kSums) {
      const int n = first + threadIdx.x / kLanes;
      const A* weight = weights + min(n, outputs - 1) * pitch_of(inputs);
      A sum[R] = {};
      for (int k = lane; k < inputs; k += kLanes) {
        const A w = weight[1 + k];
#pragma unroll
        for (int r = 0; r < R; ++r) sum[r] += w * values[r * pitch + k];
      }
      add_lanes(sum);
      if (n >= outputs || lane >= R) continue;
      const T before = narrowed<T>(own_sum(sum, lane) + weight[0]);
      const T y = narrowed<T>(activated(layer.activation, widened(before)));
      results[lane * pitch + n] = widened(y);
      if (lane >= there) continue;
      put<T>(layer.output, row0 + lane, n) = y;
      if (layer.activation == Activation::kGelu) put<T>(layer.before, row0 + lane, n) = before;
    }
    weights += outputs * pitch_of(inputs);
    A* const swapped = values;
    values = results;
    results = swapped;
    __syncthreads();
  }
}

// From the last layer's output to the first layer's argument: the gradients before each activation. The first layer's
// own weight is not needed.
template <typename T, int R>
__global__ void __launch_bounds__(kThreads) backward_rows(const __grid_constant__ SmallStack stack, int pitch) {
  using A = accumulator<T>;
  static_assert(R <= kLanes);
  extern __shared__ __align__(16) unsigned char storage[];
  __shared__ Segment<T> segments[kMostSegments];
  A* gradients = reinterpret_cast<A*>(storage);
  A* results = gradients + R * pitch;
  A* kept = results + R * pitch;                       // a block of R rows for each layer
  A* weights = kept + stack.count * R * pitch;         // of the layers after the first
  const int64_t row0 = blockIdx.x * int64_t(R);
  const int there = static_cast<int>(min(int64_t(R), stack.rows - row0)), top = stack.count - 1;
  __shared__ int brought;
  if (threadIdx.x == 0) {
    int count = 0;
    segments[count++] =
        segment_of<T>(stack.gradient, row0, R, there, stack.layers[top].outputs, gradients, pitch);
    A* to = weights;
    for (int l = 0; l < stack.count; ++l) {
      const Layer& layer = stack.layers[l];
      const int outputs = static_cast<int>(layer.outputs);
      if (layer.activation != Activation::kNone)
        segments[count++] = segment_of<T>(layer.activation == Activation::kGelu ? layer.before : layer.output, row0, R,
                                          there, outputs, kept + l * R * pitch, pitch);
      if (l == 0) continue;
      segments[count++] = segment_of<T>(layer.weight, 0, outputs, outputs, 1 + layer.inputs, to, pitch_of(layer.inputs));
      to += outputs * pitch_of(layer.inputs);
    }
    brought = count;
  }
  __syncthreads();
  bring(segments, brought);
  __syncthreads();
  const int classes = static_cast<int>(stack.layers[top].outputs);
  for (int i = threadIdx.x; i < R * classes; i += kThreads) {
    const int r = i / classes, n = i % classes;
    const T before = narrowed<T>(
        through(stack.layers[top].activation, kept[(top * R + r) * pitch + n], gradients[r * pitch + n]));
    gradients[r * pitch + n] = widened(before);
    if (r < there) put<T>(stack.gradients[top], row0 + r, n) = before;
  }
  __syncthreads();
  for (int l = 1; l < stack.count; ++l) weights += stack.layers[l].outputs * pitch_of(stack.layers[l].inputs);
  const int lane = threadIdx.x % kLanes;
  for (int l = top; l > 0; --l) {
    const Layer& layer = stack.layers[l];
    const int inputs = static_cast<int>(layer.inputs), outputs = static_cast<int>(layer.outputs);
    weights -= outputs * pitch_of(inputs);
    for (int first = 0; first < inputs; first += kSums) {
      const int k = first + threadIdx.x / kLanes;
      const A* weight = weights + 1 + min(k, inputs - 1);
      A sum[R] = {};
      for (int n = lane; n < outputs; n += kLanes) {
        const A w = weight[n * pitch_of(inputs)];
#pragma unroll
        for (int r = 0; r < R; ++r) sum[r] += w * gradients[r * pitch + n];
      }
      add_lanes(sum);
      if (k >= inputs || lane >= R) continue;
      const T before = narrowed<T>(through(
          stack.layers[l - 1].activation, kept[((l - 1) * R + lane) * pitch + k], own_sum(sum, lane)));
      results[lane * pitch + k] = widened(before);
      if (lane < there) put<T>(stack.gradients[l - 1], row0 + lane, k) = before;
    }
    A* const swapped = gradients;
    gradients = results;
    results = swapped;
    __syncthreads();
  }
}

// Rows a block: few, so that many blocks share the work; more where there are blocks enough.
int rows_of(int64_t rows) { return rows <= 128 ? 1 : rows <= 256 ? 2 : 4; }

// Elements of shared memory for `rows` of a pass: `buffers` times all rows, and the weights of the layers [from, count).
struct Shape {
  int pitch;
  int64_t elements;
};

Shape shape_of(const int64_t* widths, int from, int count, int buffers, int rows) {
  Shape shape{0, 0};
  for (int i = from > 0 ? 1 : 0; i <= count; ++i) shape.pitch = std::max(shape.pitch, row_pitch(widths[i]));
  shape.elements = int64_t(buffers) * rows * shape.pitch;
  for (int l = from; l < count; ++l) shape.elements += widths[l + 1] * pitch_of(widths[l]);
  return shape;
}

template <typename T, int R>
cudaError_t launch(const SmallStack& stack, bool forward, cudaStream_t stream) {
  int64_t widths[kMostLayers + 1] = {stack.layers[0].inputs};
  for (int l = 0; l < stack.count; ++l) widths[l + 1] = stack.layers[l].outputs;
  const Shape shape = shape_of(widths, forward ? 0 : 1, stack.count, forward ? 2 : 2 + stack.count, R);
  const auto shared = static_cast<int>(shape.elements * static_cast<int64_t>(sizeof(accumulator<T>)));
  auto* kernel = forward ? &forward_rows<T, R> : &backward_rows<T, R>;
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  if (error != cudaSuccess) return error;
  kernel<<<static_cast<unsigned>((stack.rows + R - 1) / R), kThreads, shared, stream>>>(stack, shape.pitch);
  return cudaGetLastError();
}

template <typename T>
cudaError_t launch_any(const SmallStack& stack, bool forward, cudaStream_t stream) {
  switch (rows_of(stack.rows)) {
    case 1: return launch<T, 1>(stack, forward, stream);
    case 2: return launch<T, 2>(stack, forward, stream);
    default: return launch<T, 4>(stack, forward, stream);
  }
}

cudaError_t launch_for(Element element, const SmallStack& stack, bool forward, cudaStream_t stream) {
  switch (element) {
    case Element::kFloat: return launch_any<float>(stack, forward, stream);
    case Element::kDouble: return launch_any<double>(stack, forward, stream);
    case Element::kBFloat16: return launch_any<__nv_bfloat16>(stack, forward, stream);
    default: return launch_any<__half>(stack, forward, stream);
  }
}

}  // namespace

cudaError_t run_small_forward(Element element, const SmallStack& stack, cudaStream_t stream) {
  return launch_for(element, stack, true, stream);
}

cudaError_t run_small_backward(Element element, const SmallStack& stack, cudaStream_t stream) {
  return launch_for(element, stack, false, stream);
}

bool fits_small_stack(Element element, const int64_t* widths, int count, int64_t rows) {
  if (count + 1 > kMostLayers) return false;
  const Shape shape = shape_of(widths, 0, count, 3 + count, rows_of(rows));
  return shape.elements * (element == Element::kDouble ? 8 : 4) <= kMostShared;
}

}  // namespace sweeper::cuda
