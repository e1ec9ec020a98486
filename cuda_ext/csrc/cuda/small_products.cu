// Products too small for the library's kernels to start quickly enough: all of a pass in one launch.
//
// The paper's column of ones is there without being stored: an input's column 0 reads as 1, so that the bias is a row of
// the product like any other, and its gradient a column of the weight's.
#include <algorithm>

#include "activation.cuh"

namespace sweeper::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 8;       // of a tile
constexpr int kColumns = 16;
constexpr int kSlices = kThreads / 32;   // each warp sums its own share of the inner dimension
constexpr int kOutputs = kRows * kColumns;

template <typename A>
constexpr int kChunk = 128;   // of the inner dimension
template <typename A>
constexpr int kPitch = kChunk<A> + 4;                // rows of a tile fall into different banks

struct Task {
  SmallProduct product;
  int m, n, k;            // result [m, n], inner dimension k
  int tiles_n;
  int first_block;
};

constexpr int kMostTasks = 10;
struct Tasks {
  Task task[kMostTasks];
  int count;
};

template <typename T>
__device__ accumulator<T> gradient_at(const SmallProduct& p, int row, int output) {
  const auto value = widened(at<T>(p.gradient, row, output));
  if (!p.differentiate) return value;
  const auto slope = derivative<T>(p.layer, row, output);
  // What ReLU cut off gives no gradient, not even a NaN or an infinity.
  return p.layer.activation == Activation::kRelu && slope == 0 ? 0 : value * slope;
}

template <typename T>
__device__ accumulator<T> input_at(const SmallProduct& p, int row, int column) {
  return column == 0 ? 1 : widened(at<T>(p.input, row, column - 1));
}

template <typename T, ProductRole Role>
__device__ accumulator<T> left_at(const SmallProduct& p, int i, int k) {
  if constexpr (Role == ProductRole::kForward) return input_at<T>(p, i, k);
  else if constexpr (Role == ProductRole::kInput) return gradient_at<T>(p, i, k);
  else return gradient_at<T>(p, k, i);
}

template <typename T, ProductRole Role>
__device__ accumulator<T> right_at(const SmallProduct& p, int k, int j) {
  if constexpr (Role == ProductRole::kForward) return widened(at<T>(p.layer.weight, j, k));
  else if constexpr (Role == ProductRole::kInput) return widened(at<T>(p.layer.weight, k, j + 1));
  else return input_at<T>(p, k, j);
}

// Whether neighbours along the inner dimension lie next to each other, so that a warp loads along it.
template <ProductRole Role>
__device__ bool left_runs_inward(const SmallProduct& p) {
  if (Role == ProductRole::kForward) return p.input.column == 1;
  return (Role == ProductRole::kInput) == (p.gradient.column == 1);
}

template <ProductRole Role>
__device__ bool right_runs_inward(const SmallProduct& p) {
  if (Role == ProductRole::kForward) return p.layer.weight.column == 1;
  if (Role == ProductRole::kInput) return p.layer.weight.row == 1;
  return p.input.row == 1;
}

// A thread's elements of a chunk of kLines lines, in the order that loads neighbours together.
template <typename T, ProductRole Role, bool Left>
__device__ void fetch(const Task& task, int start, bool inward, int from, accumulator<T>* held) {
  constexpr int kLines = Left ? kRows : kColumns, C = kChunk<accumulator<T>>;
#pragma unroll
  for (int e = 0; e < kLines * C / kThreads; ++e) {
    const int index = e * kThreads + threadIdx.x;
    const int line = from + (inward ? index / C : index % kLines);
    const int k = start + (inward ? index % C : index / kLines);
    held[e] = 0;
    if (k >= task.k || line >= (Left ? task.m : task.n)) continue;
    if constexpr (Left) held[e] = left_at<T, Role>(task.product, line, k);
    else held[e] = right_at<T, Role>(task.product, k, line);
  }
}

template <int Lines, typename A>
__device__ void keep(const A* held, bool inward, A (*tile)[kPitch<A>]) {
  constexpr int C = kChunk<A>;
#pragma unroll
  for (int e = 0; e < Lines * C / kThreads; ++e) {
    const int index = e * kThreads + threadIdx.x;
    tile[inward ? index / C : index % Lines][inward ? index % C : index / Lines] = held[e];
  }
}

template <typename A>
struct alignas(4 * sizeof(A)) Four {
  A value[4];
};

template <typename T>
__device__ void finish(const Task& task, int row, int column, accumulator<T> sum) {
  const SmallProduct& p = task.product;
  const bool inside = row < task.m && column < task.n;
  if (p.role != ProductRole::kForward) {
    if (inside) put<T>(p.result, row, column) = narrowed<T>(sum);
    return;
  }
  const Layer& layer = p.layer;
  // The activation is that of the value as it is stored, as if each step were an operator of its own.
  const T before = narrowed<T>(sum);
  if (inside) {
    put<T>(layer.output, row, column) = narrowed<T>(activated(layer.activation, widened(before)));
    if (layer.activation == Activation::kGelu) put<T>(layer.before, row, column) = before;
  }
  if (layer.activation == Activation::kRelu) {
    const uint32_t bits = __ballot_sync(0xffffffffu, inside && widened(before) > 0);   // two rows of a tile
    const int lane = threadIdx.x % 32;
    if (lane % kColumns == 0 && row < task.m)
      *reinterpret_cast<uint16_t*>(layer.positive + row * layer.pitch + column / 8) =
          static_cast<uint16_t>(bits >> lane);
  }
}

template <typename A>
struct Tile {
  A left[kRows][kPitch<A>];
  A right[kColumns][kPitch<A>];
  A partial[kSlices][kOutputs];
};

// Adds up a warp's share of a chunk: each thread two rows by two columns.
template <typename A>
__device__ void add_share(const Tile<A>& tile, int end, A (&sum)[2][2]) {
  const int slice = threadIdx.x / 32, lane = threadIdx.x % 32, mi = lane / 8, ni = lane % 8;
  for (int k = 4 * slice; k < end; k += 4 * kSlices) {
    const Four<A> a0 = *reinterpret_cast<const Four<A>*>(&tile.left[mi][k]);
    const Four<A> a1 = *reinterpret_cast<const Four<A>*>(&tile.left[mi + 4][k]);
    const Four<A> b0 = *reinterpret_cast<const Four<A>*>(&tile.right[ni][k]);
    const Four<A> b1 = *reinterpret_cast<const Four<A>*>(&tile.right[ni + 8][k]);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      sum[0][0] += a0.value[e] * b0.value[e];
      sum[0][1] += a0.value[e] * b1.value[e];
      sum[1][0] += a1.value[e] * b0.value[e];
      sum[1][1] += a1.value[e] * b1.value[e];
    }
  }
}

template <typename T, ProductRole Role>
__device__ void multiply_tile(const Task& task, Tile<accumulator<T>>& tile) {
  using A = accumulator<T>;
  constexpr int C = kChunk<A>;
  const int index = blockIdx.x - task.first_block;
  const int row = index / task.tiles_n * kRows, column = index % task.tiles_n * kColumns;
  const bool left_inward = left_runs_inward<Role>(task.product), right_inward = right_runs_inward<Role>(task.product);
  A sum[2][2] = {};
  A held_left[kRows * C / kThreads], held_right[kColumns * C / kThreads];
  fetch<T, Role, true>(task, 0, left_inward, row, held_left);
  fetch<T, Role, false>(task, 0, right_inward, column, held_right);
  for (int start = 0; start < task.k; start += C) {
    keep<kRows>(held_left, left_inward, tile.left);
    keep<kColumns>(held_right, right_inward, tile.right);
    __syncthreads();
    if (start + C < task.k) {
      fetch<T, Role, true>(task, start + C, left_inward, row, held_left);
      fetch<T, Role, false>(task, start + C, right_inward, column, held_right);
    }
    add_share(tile, min(C, task.k - start), sum);
    __syncthreads();
  }
  const int slice = threadIdx.x / 32, lane = threadIdx.x % 32, mi = lane / 8, ni = lane % 8;
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) tile.partial[slice][(mi + 4 * i) * kColumns + ni + 8 * j] = sum[i][j];
  __syncthreads();
  if (threadIdx.x < kOutputs) {
    A total = 0;
#pragma unroll
    for (int s = 0; s < kSlices; ++s) total += tile.partial[s][threadIdx.x];
    finish<T>(task, row + threadIdx.x / kColumns, column + threadIdx.x % kColumns, total);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads, 2) multiply(const __grid_constant__ Tasks tasks) {
  __shared__ alignas(32) Tile<accumulator<T>> tile;
  int index = 0;
  while (index + 1 < tasks.count && static_cast<int>(blockIdx.x) >= tasks.task[index + 1].first_block) ++index;
  const Task& task = tasks.task[index];
  switch (task.product.role) {
    case ProductRole::kForward: return multiply_tile<T, ProductRole::kForward>(task, tile);
    case ProductRole::kInput: return multiply_tile<T, ProductRole::kInput>(task, tile);
    default: return multiply_tile<T, ProductRole::kWeight>(task, tile);
  }
}

Task task_of(const SmallProduct& product, int first_block) {
  Task task{product, 0, 0, 0, 0, first_block};
  const int rows = static_cast<int>(product.rows);
  const int inputs = static_cast<int>(product.layer.inputs), outputs = static_cast<int>(product.layer.outputs);
  switch (product.role) {
    case ProductRole::kForward: task.m = rows, task.n = outputs, task.k = inputs + 1; break;
    case ProductRole::kInput: task.m = rows, task.n = inputs, task.k = outputs; break;
    case ProductRole::kWeight: task.m = outputs, task.n = inputs + 1, task.k = rows; break;
  }
  task.tiles_n = (task.n + kColumns - 1) / kColumns;
  return task;
}

}  // namespace

cudaError_t run_small_products(Element element, const SmallProduct* products, int count, cudaStream_t stream) {
  for (int begun = 0; begun < count; begun += kMostTasks) {
    Tasks tasks{};
    int blocks = 0;
    for (int i = begun; i < std::min(count, begun + kMostTasks); ++i) {
      const Task task = task_of(products[i], blocks);
      const int tiles = (task.m + kRows - 1) / kRows * task.tiles_n;
      if (tiles == 0) continue;
      tasks.task[tasks.count++] = task;
      blocks += tiles;
    }
    if (blocks == 0) continue;
    switch (element) {
      case Element::kFloat: multiply<float><<<blocks, kThreads, 0, stream>>>(tasks); break;
      case Element::kDouble: multiply<double><<<blocks, kThreads, 0, stream>>>(tasks); break;
      case Element::kBFloat16: multiply<__nv_bfloat16><<<blocks, kThreads, 0, stream>>>(tasks); break;
      case Element::kHalf: multiply<__half><<<blocks, kThreads, 0, stream>>>(tasks); break;
    }
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace sweeper::cuda
