// A stack of small layers in one launch: each block takes a few rows through all layers, in shared memory.
#include <algorithm>

#include "activation.cuh"

namespace sweeper::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kLanes = 8;   // threads that share one sum of the backward pass
constexpr int kMostShared = 96 * 1024;
constexpr int64_t kMostWidth = 4096;

__device__ int power_of_two_from(int value) { return value <= 1 ? 1 : 1 << (32 - __clz(value - 1)); }

// partial[slice][row][column] = the slice's share of sum over k of values[row][k] weight[column][k + 1].
template <typename T, int R>
__device__ void multiply_forward(const Layer& layer, const accumulator<T>* values, int pitch, int first, int columns,
                                 accumulator<T>* partial) {
  using A = accumulator<T>;
  const int slices = kThreads / columns, slice = threadIdx.x / columns, local = threadIdx.x % columns;
  const int column = first + local, inputs = static_cast<int>(layer.inputs);
  const int share = (inputs + 4 * slices - 1) / (4 * slices) * 4;
  A sum[R] = {};
  if (column < layer.outputs) {
    const T* weight = static_cast<const T*>(layer.weight.data) + column * layer.weight.row + layer.weight.column;
    const int end = min(inputs, (slice + 1) * share);
#pragma unroll 4
    for (int k = slice * share; k < end; k += 4) {
      A w[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) w[e] = k + e < end ? widened(weight[(k + e) * layer.weight.column]) : A(0);
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[r] += w[e] * values[r * pitch + k + e];
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r) partial[(slice * R + r) * columns + local] = sum[r];
}

template <typename T, int R>
__global__ void __launch_bounds__(kThreads) forward_rows(const __grid_constant__ SmallStack stack, int pitch) {
  using A = accumulator<T>;
  extern __shared__ __align__(16) unsigned char storage[];
  A* values = reinterpret_cast<A*>(storage);
  A* results = values + R * pitch;
  A* partial = results + R * pitch;
  const int64_t row0 = blockIdx.x * int64_t(R);
  const int inputs = static_cast<int>(stack.layers[0].inputs);
  for (int i = threadIdx.x; i < R * pitch; i += kThreads) {
    const int r = i / pitch, k = i % pitch;
    values[i] = k < inputs && row0 + r < stack.rows ? widened(at<T>(stack.input, row0 + r, k)) : A(0);
    results[i] = 0;
  }
  __syncthreads();
  for (int l = 0; l < stack.count; ++l) {
    const Layer& layer = stack.layers[l];
    const int outputs = static_cast<int>(layer.outputs);
    const int columns = min(kThreads, power_of_two_from(outputs)), slices = kThreads / columns;
    for (int first = 0; first < outputs; first += columns) {
      multiply_forward<T, R>(layer, values, pitch, first, columns, partial);
      __syncthreads();
      for (int i = threadIdx.x; i < R * columns; i += kThreads) {
        const int r = i / columns, column = first + i % columns;
        const int64_t row = row0 + r;
        if (column >= outputs) continue;
        A sum = widened(at<T>(layer.weight, column, 0));
        for (int s = 0; s < slices; ++s) sum += partial[(s * R + r) * columns + i % columns];
        const T before = narrowed<T>(sum), y = narrowed<T>(activated(layer.activation, widened(before)));
        results[r * pitch + column] = widened(y);
        if (row >= stack.rows) continue;
        put<T>(layer.output, row, column) = y;
        if (layer.activation == Activation::kGelu) put<T>(layer.before, row, column) = before;
      }
      __syncthreads();
    }
    if (layer.activation == Activation::kRelu) {
      const int bytes = (outputs + 7) / 8;
      for (int i = threadIdx.x; i < R * bytes; i += kThreads) {
        const int r = i / bytes, byte = i % bytes;
        if (row0 + r >= stack.rows) continue;
        unsigned bits = 0;
        for (int b = 0; b < 8 && byte * 8 + b < outputs; ++b)
          bits |= (results[r * pitch + byte * 8 + b] > 0 ? 1u : 0u) << b;
        layer.positive[(row0 + r) * layer.pitch + byte] = static_cast<uint8_t>(bits);
      }
    }
    // The next layer reads in fours past its inputs: what lies there must be finite, and is multiplied by zero.
    for (int i = threadIdx.x; i < R * 4; i += kThreads)
      if (outputs + i % 4 < pitch) results[i / 4 * pitch + outputs + i % 4] = 0;
    A* const swapped = values;
    values = results;
    results = swapped;
    __syncthreads();
  }
}

template <typename T>
__device__ accumulator<T> through_activation(const Layer& layer, int64_t row, int column, accumulator<T> gradient) {
  const auto slope = derivative<T>(layer, row, column);
  return layer.activation == Activation::kRelu && slope == 0 ? 0 : gradient * slope;
}

// From the last layer's output to the first layer's argument: the gradients before each activation.
template <typename T, int R>
__global__ void __launch_bounds__(kThreads) backward_rows(const __grid_constant__ SmallStack stack, int pitch) {
  using A = accumulator<T>;
  extern __shared__ __align__(16) unsigned char storage[];
  A* gradients = reinterpret_cast<A*>(storage);
  A* results = gradients + R * pitch;
  const int64_t row0 = blockIdx.x * int64_t(R);
  const Layer& top = stack.layers[stack.count - 1];
  const int classes = static_cast<int>(top.outputs);
  for (int i = threadIdx.x; i < R * classes; i += kThreads) {
    const int r = i / classes, column = i % classes;
    const int64_t row = row0 + r;
    A value = 0;
    if (row < stack.rows) {
      const T kept = narrowed<T>(through_activation<T>(top, row, column, widened(at<T>(stack.gradient, row, column))));
      put<T>(stack.gradients[stack.count - 1], row, column) = kept;
      value = widened(kept);
    }
    gradients[r * pitch + column] = value;
  }
  __syncthreads();
  const int lane = threadIdx.x % kLanes;
  for (int l = stack.count - 1; l > 0; --l) {
    const Layer& layer = stack.layers[l];
    const int inputs = static_cast<int>(layer.inputs), outputs = static_cast<int>(layer.outputs);
    const int rounds = (inputs + kThreads / kLanes - 1) / (kThreads / kLanes);
    for (int round = 0; round < rounds; ++round) {
      const int k = round * (kThreads / kLanes) + threadIdx.x / kLanes;
      A sum[R] = {};
      if (k < inputs)
        for (int n = lane; n < outputs; n += kLanes) {
          const A w = widened(at<T>(layer.weight, n, k + 1));
#pragma unroll
          for (int r = 0; r < R; ++r) sum[r] += w * gradients[r * pitch + n];
        }
#pragma unroll
      for (int r = 0; r < R; ++r) {
#pragma unroll
        for (int offset = kLanes / 2; offset > 0; offset /= 2) sum[r] += __shfl_xor_sync(0xffffffffu, sum[r], offset);
        if (lane == r % kLanes && k < inputs) {
          const int64_t row = row0 + r;
          A value = 0;
          if (row < stack.rows) {
            const T kept = narrowed<T>(through_activation<T>(stack.layers[l - 1], row, k, sum[r]));
            put<T>(stack.gradients[l - 1], row, k) = kept;
            value = widened(kept);
          }
          results[r * pitch + k] = value;
        }
      }
    }
    A* const swapped = gradients;
    gradients = results;
    results = swapped;
    __syncthreads();
  }
}

// Rows a block: few enough to fill the device, many enough to reuse each weight.
int rows_of(int64_t rows) { return rows <= 64 ? 1 : rows <= 256 ? 2 : 4; }

int pitch_of(const SmallStack& stack, bool with_inputs) {
  int64_t widest = with_inputs ? stack.layers[0].inputs : 0;
  for (int l = 0; l < stack.count; ++l) widest = std::max(widest, stack.layers[l].outputs);
  return static_cast<int>((widest + 7) / 4 * 4);
}

template <typename T, int R>
cudaError_t launch(const SmallStack& stack, bool forward, cudaStream_t stream) {
  using A = accumulator<T>;
  const int pitch = pitch_of(stack, forward);
  const size_t shared = (2 * R * size_t(pitch) + (forward ? size_t(kThreads) * R : 0)) * sizeof(A);
  auto* kernel = forward ? &forward_rows<T, R> : &backward_rows<T, R>;
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  if (error != cudaSuccess) return error;
  kernel<<<static_cast<unsigned>((stack.rows + R - 1) / R), kThreads, shared, stream>>>(stack, pitch);
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
  int64_t widest = 0;
  for (int i = 0; i < count; ++i) widest = std::max(widest, widths[i]);
  if (widest > kMostWidth) return false;
  const int64_t size = element == Element::kDouble ? 8 : 4, r = rows_of(rows);
  return (2 * r * (widest + 8) + kThreads * r) * size <= kMostShared;
}

}  // namespace sweeper::cuda
