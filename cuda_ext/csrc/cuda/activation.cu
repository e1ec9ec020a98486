// Activations where no product takes them into its epilogue: one pass over the matrix.
#include <algorithm>
#include <type_traits>

#include "activation.cuh"

namespace sweeper::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kColumns = 8;   // a thread's
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
#pragma unroll
    for (int e = 0; e < kColumns; ++e)
      eight.value[e] = narrowed<T>(activated(layer.activation, widened(eight.value[e])));
    write<T, Wide>(layer.output, row, column, columns, eight);
  }
}

template <typename T>
__device__ void differentiate(Activation activation, const Eight<T>& kept, Eight<T>& gradient) {
#pragma unroll
  for (int e = 0; e < kColumns; ++e)
    gradient.value[e] = narrowed<T>(through(activation, widened(kept.value[e]), widened(gradient.value[e])));
}

// The pass over a gradient goes by tiles of kTileRows rows; a block takes `share` rows of some columns, kColumns a thread.
constexpr int kTileRows = 64;
constexpr int kWideColumns = 256;               // of a block, on matrices that fill the device so
constexpr int kNarrowColumns = 64;
constexpr int64_t kWideWork = int64_t(1) << 22; // elements
constexpr int64_t kWantedBlocks = 512;
constexpr int64_t kOneShare = 256;              // rows; adding up shares takes a launch more
constexpr int kAhead = 4;                       // rows that a thread has under way

int64_t share_of(int64_t rows, int64_t outputs) {
  if (rows <= kOneShare) return kOneShare;
  const int64_t columns = rows * outputs >= kWideWork ? kWideColumns : kNarrowColumns;
  const int64_t wanted = std::max<int64_t>(1, kWantedBlocks / ((outputs + columns - 1) / columns));
  const int64_t share = (rows + wanted - 1) / wanted;
  return (share + kTileRows - 1) / kTileRows * kTileRows;
}

int64_t shares_of(int64_t rows, int64_t outputs) {
  if (rows * outputs == 0) return 0;
  const int64_t share = share_of(rows, outputs);
  return (rows + share - 1) / share;
}

// kBlockColumns columns of a share of rows. All of a thread's loads for kAhead rows go out before the first is used.
template <typename T, bool Wide, int kBlockColumns, bool Turns>
__global__ void __launch_bounds__(kThreads)
    pass_gradient(const __grid_constant__ Layer layer, int64_t rows, const __grid_constant__ GradientPass pass,
                  int64_t share) {
  using A = accumulator<T>;
  constexpr int kGroups = kBlockColumns / kColumns, kLines = kThreads / kGroups;   // rows that a block reads at once
  constexpr int kSteps = kTileRows / kLines, kRound = kSteps < kAhead ? kSteps : kAhead;
  __shared__ A sums[kLines][kBlockColumns + 1];
  __shared__ T turned[Turns ? kBlockColumns : 1][kTileRows + 1];
  const int group = threadIdx.x % kGroups, line = threadIdx.x / kGroups;
  const int64_t left = blockIdx.x * int64_t(kBlockColumns), column = left + group * kColumns;
  const int columns = static_cast<int>(max(int64_t(0), min(int64_t(kColumns), layer.outputs - column)));
  const View result{pass.before, layer.outputs, 1};
  const View& source = layer.activation == Activation::kGelu ? layer.before : layer.output;
  const bool differentiates = layer.activation != Activation::kNone;
  // The last rows first: they were written last, and are the likeliest to be in the cache still.
  const int64_t part = gridDim.y - 1 - blockIdx.y, first = part * share, end = min(rows, first + share);
  A sum[kColumns] = {};
  for (int64_t base = first; base < end; base += kTileRows) {
#pragma unroll
    for (int begun = 0; begun < kSteps; begun += kRound) {
      Eight<T> gradient[kRound] = {}, kept[kRound] = {};
#pragma unroll
      for (int step = 0; step < kRound; ++step) {
        const int64_t row = base + (begun + step) * kLines + line;
        if (row >= end || columns == 0) continue;
        gradient[step] = read<T, Wide>(pass.gradient, row, column, columns);
        if (differentiates) kept[step] = read<T, Wide>(source, row, column, columns);
      }
#pragma unroll
      for (int step = 0; step < kRound; ++step) {
        const int64_t row = base + (begun + step) * kLines + line;
        if (differentiates) differentiate<T>(layer.activation, kept[step], gradient[step]);
        if (pass.before && row < end && columns > 0) write<T, Wide>(result, row, column, columns, gradient[step]);
#pragma unroll
        for (int e = 0; e < kColumns; ++e) sum[e] += widened(gradient[step].value[e]);
        if constexpr (Turns)
#pragma unroll
          for (int e = 0; e < kColumns; ++e)
            turned[group * kColumns + e][(begun + step) * kLines + line] = gradient[step].value[e];
      }
    }
    if constexpr (Turns) {
      __syncthreads();
      for (int i = threadIdx.x; i < kBlockColumns * kTileRows; i += kThreads) {
        const int64_t output = left + i / kTileRows, row = base + i % kTileRows;
        if (output < layer.outputs && row < end)
          static_cast<T*>(pass.transposed)[output * rows + row] = turned[i / kTileRows][i % kTileRows];
      }
      __syncthreads();
    }
  }
#pragma unroll
  for (int e = 0; e < kColumns; ++e) sums[line][group * kColumns + e] = sum[e];
  __syncthreads();
  const int64_t output = left + threadIdx.x;
  if (threadIdx.x >= kBlockColumns || output >= layer.outputs) return;
  A total = 0;
#pragma unroll
  for (int l = 0; l < kLines; ++l) total += sums[l][threadIdx.x];
  if (gridDim.y == 1) put<T>(pass.bias, output, 0) = narrowed<T>(total);
  else static_cast<A*>(pass.partial)[part * layer.outputs + output] = total;
}

constexpr int kPartialColumns = 32;

// The bias's gradient from the shares' sums: each of 8 lines of a block adds up every eighth share.
template <typename T>
__global__ void __launch_bounds__(kThreads) add_partial(
    const accumulator<T>* partial, int64_t shares, int64_t outputs, View bias) {
  using A = accumulator<T>;
  constexpr int kPartialLines = kThreads / kPartialColumns;
  __shared__ A sums[kPartialLines][kPartialColumns];
  const int place = threadIdx.x % kPartialColumns, line = threadIdx.x / kPartialColumns;
  const int64_t output = blockIdx.x * int64_t(kPartialColumns) + place;
  A total = 0;
  if (output < outputs)
#pragma unroll 4
    for (int64_t s = line; s < shares; s += kPartialLines) total += partial[s * outputs + output];
  sums[line][place] = total;
  __syncthreads();
  if (line > 0 || output >= outputs) return;
  for (int l = 1; l < kPartialLines; ++l) total += sums[l][place];
  put<T>(bias, output, 0) = narrowed<T>(total);
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

template <typename T, bool Wide>
void start_pass_by(const Layer& layer, int64_t rows, const GradientPass& pass, cudaStream_t stream) {
  const bool broad = rows * layer.outputs >= kWideWork && !pass.transposed;
  const int64_t columns = broad ? kWideColumns : kNarrowColumns;
  const dim3 blocks(static_cast<unsigned>((layer.outputs + columns - 1) / columns),
                    static_cast<unsigned>(shares_of(rows, layer.outputs)));
  auto* kernel = broad ? &pass_gradient<T, Wide, kWideColumns, false> : &pass_gradient<T, Wide, kNarrowColumns, false>;
  if constexpr (std::is_same_v<T, float>)
    if (pass.transposed) kernel = &pass_gradient<T, Wide, kNarrowColumns, true>;
  kernel<<<blocks, kThreads, 0, stream>>>(layer, rows, pass, share_of(rows, layer.outputs));
}

template <typename T>
void start_pass(const Layer& layer, int64_t rows, const GradientPass& pass, cudaStream_t stream) {
  const bool from_output = layer.activation == Activation::kRelu || layer.activation == Activation::kSigmoid;
  const bool vectors = wide(pass.gradient, layer.outputs, sizeof(T)) &&
                       (!from_output || wide(layer.output, layer.outputs, sizeof(T))) &&
                       wide(layer.before, layer.outputs, sizeof(T)) &&
                       wide({pass.before, layer.outputs, 1}, layer.outputs, sizeof(T));
  if (vectors) start_pass_by<T, true>(layer, rows, pass, stream);
  else start_pass_by<T, false>(layer, rows, pass, stream);
  const int64_t shares = shares_of(rows, layer.outputs);
  if (shares > 1)
    add_partial<T><<<static_cast<unsigned>((layer.outputs + kPartialColumns - 1) / kPartialColumns), kThreads, 0, stream>>>(
        static_cast<const accumulator<T>*>(pass.partial), shares, layer.outputs, pass.bias);
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

int64_t partial_bytes(Element element, int64_t rows, int64_t outputs) {
  const int64_t shares = shares_of(rows, outputs);
  return shares > 1 ? shares * outputs * (element == Element::kDouble ? 8 : 4) : 0;
}

cudaError_t run_gradient_pass(
    Element element, const Layer& layer, int64_t rows, const GradientPass& pass, cudaStream_t stream) {
  if (rows * layer.outputs == 0) return cudaSuccess;
  switch (element) {
    case Element::kFloat: start_pass<float>(layer, rows, pass, stream); break;
    case Element::kDouble: start_pass<double>(layer, rows, pass, stream); break;
    case Element::kBFloat16: start_pass<__nv_bfloat16>(layer, rows, pass, stream); break;
    case Element::kHalf: start_pass<__half>(layer, rows, pass, stream); break;
  }
  return cudaGetLastError();
}

}  // namespace sweeper::cuda
