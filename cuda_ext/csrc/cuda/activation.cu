// Activations where no product takes them into its epilogue: one pass over the matrix.
#include <algorithm>

#include "activation.cuh"

namespace sweeper::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kColumns = 8;   // a thread's, one byte of ReLU's bits
constexpr int64_t kMostBlocks = 1 << 20;

template <typename T>
struct alignas(16) Eight {
  T value[kColumns];
};

// A thread's columns of a row, whole vectors where `Wide`.
template <typename T, bool Wide>
__device__ Eight<T> read(const View& view, int64_t row, int64_t column, int columns) {
  if (Wide) return *reinterpret_cast<const Eight<T>*>(&at<T>(view, row, column));
  Eight<T> eight{};
  for (int e = 0; e < columns; ++e) eight.value[e] = at<T>(view, row, column + e);
  return eight;
}

template <typename T, bool Wide>
__device__ void write(const View& view, int64_t row, int64_t column, int columns, const Eight<T>& eight) {
  if (Wide) {
    *reinterpret_cast<Eight<T>*>(&put<T>(view, row, column)) = eight;
  } else {
    for (int e = 0; e < columns; ++e) put<T>(view, row, column + e) = eight.value[e];
  }
}

template <typename T, bool Wide>
__global__ void __launch_bounds__(kThreads) activate(const __grid_constant__ Layer layer, int64_t rows) {
  const int64_t groups = (layer.outputs + kColumns - 1) / kColumns;
  for (int64_t i = blockIdx.x * int64_t(kThreads) + threadIdx.x; i < rows * groups; i += gridDim.x * int64_t(kThreads)) {
    const int64_t row = i / groups, column = i % groups * kColumns;
    const int columns = static_cast<int>(min(int64_t(kColumns), layer.outputs - column));
    Eight<T> eight = read<T, Wide>(layer.output, row, column, columns);
    if (layer.activation == Activation::kGelu) write<T, Wide>(layer.before, row, column, columns, eight);
    unsigned bits = 0;
#pragma unroll
    for (int e = 0; e < kColumns; ++e) {
      const auto before = widened(eight.value[e]);
      bits |= (e < columns && before > 0 ? 1u : 0u) << e;
      eight.value[e] = narrowed<T>(activated(layer.activation, before));
    }
    write<T, Wide>(layer.output, row, column, columns, eight);
    if (layer.activation == Activation::kRelu)
      layer.positive[row * layer.pitch + column / 8] = static_cast<uint8_t>(bits);
  }
}

template <typename T, bool Wide>
__device__ void differentiate(const Layer& layer, int64_t row, int64_t column, int columns, Eight<T>& gradient) {
  if (layer.activation == Activation::kRelu) {
    const unsigned bits = layer.positive[row * layer.pitch + column / 8];
#pragma unroll
    for (int e = 0; e < kColumns; ++e)
      if (!(bits >> e & 1)) gradient.value[e] = narrowed<T>(0);
    return;
  }
  const bool gelu = layer.activation == Activation::kGelu;
  const Eight<T> kept = read<T, Wide>(gelu ? layer.before : layer.output, row, column, columns);
#pragma unroll
  for (int e = 0; e < kColumns; ++e) {
    const auto value = widened(kept.value[e]);
    const auto slope = gelu ? gelu_derivative(value) : value * (1 - value);
    gradient.value[e] = narrowed<T>(widened(gradient.value[e]) * slope);
  }
}

template <typename T, bool Wide>
__global__ void __launch_bounds__(kThreads)
    differentiate_all(const __grid_constant__ Layer layer, int64_t rows, View gradient, View result) {
  const int64_t groups = (layer.outputs + kColumns - 1) / kColumns;
  for (int64_t i = blockIdx.x * int64_t(kThreads) + threadIdx.x; i < rows * groups; i += gridDim.x * int64_t(kThreads)) {
    const int64_t row = i / groups, column = i % groups * kColumns;
    const int columns = static_cast<int>(min(int64_t(kColumns), layer.outputs - column));
    Eight<T> eight = read<T, Wide>(gradient, row, column, columns);
    if (layer.activation != Activation::kNone) differentiate<T, Wide>(layer, row, column, columns, eight);
    write<T, Wide>(result, row, column, columns, eight);
  }
}

bool wide(const View& view, int64_t outputs, int64_t element_bytes) {
  if (view.data == nullptr) return true;
  return view.column == 1 && outputs % kColumns == 0 && view.row * element_bytes % 16 == 0 &&
         reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
}

unsigned blocks_for(int64_t rows, int64_t outputs) {
  const int64_t threads = rows * ((outputs + kColumns - 1) / kColumns);
  return static_cast<unsigned>(std::min((threads + kThreads - 1) / kThreads, kMostBlocks));
}

template <typename T>
void start_activation(const Layer& layer, int64_t rows, cudaStream_t stream) {
  const bool vectors = wide(layer.output, layer.outputs, sizeof(T)) && wide(layer.before, layer.outputs, sizeof(T));
  auto* kernel = vectors ? &activate<T, true> : &activate<T, false>;
  kernel<<<blocks_for(rows, layer.outputs), kThreads, 0, stream>>>(layer, rows);
}

template <typename T>
void start_gradient(const Layer& layer, int64_t rows, View gradient, View result, cudaStream_t stream) {
  const bool vectors = wide(layer.output, layer.outputs, sizeof(T)) && wide(layer.before, layer.outputs, sizeof(T)) &&
                       wide(gradient, layer.outputs, sizeof(T)) && wide(result, layer.outputs, sizeof(T));
  auto* kernel = vectors ? &differentiate_all<T, true> : &differentiate_all<T, false>;
  kernel<<<blocks_for(rows, layer.outputs), kThreads, 0, stream>>>(layer, rows, gradient, result);
}

}  // namespace

cudaError_t run_activation(Element element, const Layer& layer, int64_t rows, cudaStream_t stream) {
  if (rows * layer.outputs == 0) return cudaSuccess;
  switch (element) {
    case Element::kFloat: start_activation<float>(layer, rows, stream); break;
    case Element::kDouble: start_activation<double>(layer, rows, stream); break;
    case Element::kBFloat16: start_activation<__nv_bfloat16>(layer, rows, stream); break;
    case Element::kHalf: start_activation<__half>(layer, rows, stream); break;
  }
  return cudaGetLastError();
}

cudaError_t run_activation_gradient(
    Element element, const Layer& layer, int64_t rows, View gradient, void* result, cudaStream_t stream) {
  if (rows * layer.outputs == 0) return cudaSuccess;
  const View to{result, layer.outputs, 1};
  switch (element) {
    case Element::kFloat: start_gradient<float>(layer, rows, gradient, to, stream); break;
    case Element::kDouble: start_gradient<double>(layer, rows, gradient, to, stream); break;
    case Element::kBFloat16: start_gradient<__nv_bfloat16>(layer, rows, gradient, to, stream); break;
    case Element::kHalf: start_gradient<__half>(layer, rows, gradient, to, stream); break;
  }
  return cudaGetLastError();
}

}  // namespace sweeper::cuda
