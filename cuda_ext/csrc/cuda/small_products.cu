// Products too small for the library's kernels to start quickly enough: all of a pass in one launch.
//
// The paper's column of ones is there without being stored: an input's column 0 reads as 1, so that the bias is a row of
// the product like any other, and its gradient a column of the weight's.
#include <algorithm>

#include "activation.cuh"

namespace sweeper::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 8;                 // of a tile
constexpr int kColumns = 16;
constexpr int kSlices = kThreads / 32;   // each warp sums its own share of the inner dimension
constexpr int kOutputs = kRows * kColumns;
constexpr int kChunk = 128;              // of the inner dimension
constexpr int kPitch = kChunk + 4;       // rows of a tile fall into different banks

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

// One side of a product: [m, k] on the left, [k, n] on the right, as lines along the inner dimension.
// Element (line, k) lies at data + line * along_lines + k * inward.
template <typename T>
struct Side {
  const T* data;
  const T* kept;               // what the activation's derivative follows from, laid out as kept_* say; or null
  int64_t along_lines, inward;
  int64_t kept_along_lines, kept_inward;
  int lines;
  Activation activation;       // whose derivative is multiplied in, where `kept` is there
  int ones;                    // 1: line 0 is ones and the data begin at line 1; 2: the same of k; 0: neither
};

template <typename T>
__device__ Side<T> gradient_side(const SmallProduct& p, bool lines_are_rows, int lines) {
  const View& g = p.gradient;
  const bool differentiates = p.differentiate && p.layer.activation != Activation::kNone;
  const View& kept = p.layer.activation == Activation::kGelu ? p.layer.before : p.layer.output;
  Side<T> side{};
  side.data = static_cast<const T*>(g.data);
  side.along_lines = lines_are_rows ? g.row : g.column;
  side.inward = lines_are_rows ? g.column : g.row;
  side.kept = differentiates ? static_cast<const T*>(kept.data) : nullptr;
  side.kept_along_lines = lines_are_rows ? kept.row : kept.column;
  side.kept_inward = lines_are_rows ? kept.column : kept.row;
  side.lines = lines;
  side.activation = p.layer.activation;
  return side;
}

template <typename T>
__device__ Side<T> plain_side(const View& view, bool lines_are_rows, int lines, int ones) {
  Side<T> side{};
  side.data = static_cast<const T*>(view.data);
  side.along_lines = lines_are_rows ? view.row : view.column;
  side.inward = lines_are_rows ? view.column : view.row;
  side.lines = lines;
  side.ones = ones;
  return side;
}

template <typename T>
__device__ Side<T> left_side(const Task& task) {
  const SmallProduct& p = task.product;
  switch (p.role) {
    case ProductRole::kForward: return plain_side<T>(p.input, true, task.m, 2);
    case ProductRole::kInput: return gradient_side<T>(p, true, task.m);
    default: return gradient_side<T>(p, false, task.m);
  }
}

template <typename T>
__device__ Side<T> right_side(const Task& task) {
  const SmallProduct& p = task.product;
  // A bias's gradient takes the ones only; the loads go to the gradient, which is there even where a layer has no inputs.
  if (p.role == ProductRole::kWeight) return plain_side<T>(p.bias_only ? p.gradient : p.input, false, task.n, 1);
  if (p.role == ProductRole::kForward) return plain_side<T>(p.layer.weight, true, task.n, 0);
  Side<T> side = plain_side<T>(p.layer.weight, false, task.n, 0);   // without the bias's column
  side.data += side.along_lines;
  return side;
}

// A thread's elements of a chunk of `Lines` lines. They are loaded first, all of them and unconditionally (past an end,
// the last one again), and made sense of when they are stored: a load that waits for the one before is the whole cost.
template <typename T, int Lines>
struct Held {
  static constexpr int kCount = Lines * kChunk / kThreads;
  T value[kCount];
  T kept[kCount];

  // Neighbouring threads load along the inner dimension where that is dense, else along the lines.
  static __device__ void place(bool inward, int e, int& line, int& k) {
    const int index = e * kThreads + threadIdx.x;
    line = inward ? index / kChunk : index % Lines;
    k = inward ? index % kChunk : index / Lines;
  }

  __device__ void load(const Side<T>& side, int from, int start, int end) {
    const bool inward = side.inward == 1;
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      int line, k;
      place(inward, e, line, k);
      line = min(from + line, side.lines - 1);
      k = min(start + k, end - 1);
      const int data_line = max(0, line - (side.ones == 1 ? 1 : 0)), data_k = max(0, k - (side.ones == 2 ? 1 : 0));
      value[e] = side.data[data_line * side.along_lines + data_k * side.inward];
      if (side.kept) kept[e] = side.kept[line * side.kept_along_lines + k * side.kept_inward];
    }
  }

  __device__ void store(const Side<T>& side, int from, int start, int end, accumulator<T> (*tile)[kPitch]) const {
    using A = accumulator<T>;
    const bool inward = side.inward == 1;
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      int line, k;
      place(inward, e, line, k);
      A element = widened(value[e]);
      if (side.kept) element = through(side.activation, widened(kept[e]), element);
      if ((side.ones == 1 && from + line == 0) || (side.ones == 2 && start + k == 0)) element = 1;
      if (from + line >= side.lines || start + k >= end) element = 0;
      tile[line][k] = element;
    }
  }
};

template <typename A>
struct alignas(4 * sizeof(A)) Four {
  A value[4];
};

template <typename A>
struct Tile {
  A left[kRows][kPitch];
  A right[kColumns][kPitch];
  A partial[kSlices][kOutputs];
};

// Adds up a warp's share of a chunk: each thread two rows by two columns.
template <typename A>
__device__ void add_share(const Tile<A>& tile, int count, A (&sum)[2][2]) {
  const int slice = threadIdx.x / 32, lane = threadIdx.x % 32, mi = lane / 8, ni = lane % 8;
  for (int k = 4 * slice; k < count; k += 4 * kSlices) {
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

template <typename T>
__device__ void finish(const Task& task, int row, int column, accumulator<T> sum) {
  if (row >= task.m || column >= task.n) return;
  const SmallProduct& p = task.product;
  if (p.role != ProductRole::kForward) {
    put<T>(p.result, row, column) = narrowed<T>(sum);
    return;
  }
  // The activation is that of the value as it is stored, as if each step were an operator of its own.
  const T before = narrowed<T>(sum);
  put<T>(p.layer.output, row, column) = narrowed<T>(activated(p.layer.activation, widened(before)));
  if (p.layer.activation == Activation::kGelu) put<T>(p.layer.before, row, column) = before;
}

template <typename T>
__global__ void __launch_bounds__(kThreads, 2) multiply(const __grid_constant__ Tasks tasks) {
  using A = accumulator<T>;
  __shared__ alignas(32) Tile<A> tile;
  int index = 0;
  while (index + 1 < tasks.count && static_cast<int>(blockIdx.x) >= tasks.task[index + 1].first_block) ++index;
  const Task& task = tasks.task[index];
  const int place = blockIdx.x - task.first_block;
  const int row = place / task.tiles_n * kRows, column = place % task.tiles_n * kColumns;
  const Side<T> left = left_side<T>(task), right = right_side<T>(task);
  A sum[2][2] = {};
  Held<T, kRows> held_left;
  Held<T, kColumns> held_right;
  held_left.load(left, row, 0, task.k);
  held_right.load(right, column, 0, task.k);
  for (int start = 0; start < task.k; start += kChunk) {
    held_left.store(left, row, start, task.k, tile.left);
    held_right.store(right, column, start, task.k, tile.right);
    __syncthreads();
    if (start + kChunk < task.k) {
      held_left.load(left, row, start + kChunk, task.k);
      held_right.load(right, column, start + kChunk, task.k);
    }
    add_share(tile, min(kChunk, task.k - start), sum);
    __syncthreads();
  }
  const int slice = threadIdx.x / 32, lane = threadIdx.x % 32, mi = lane / 8, ni = lane % 8;
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) tile.partial[slice][(mi + 4 * i) * kColumns + ni + 8 * j] = sum[i][j];
  __syncthreads();
  if (threadIdx.x >= kOutputs) return;
  A total = 0;
#pragma unroll
  for (int s = 0; s < kSlices; ++s) total += tile.partial[s][threadIdx.x];
  finish<T>(task, row + threadIdx.x / kColumns, column + threadIdx.x % kColumns, total);
}

Task task_of(const SmallProduct& product, int first_block) {
  Task task{product, 0, 0, 0, 0, first_block};
  const int rows = static_cast<int>(product.rows);
  const int inputs = static_cast<int>(product.layer.inputs), outputs = static_cast<int>(product.layer.outputs);
  switch (product.role) {
    case ProductRole::kForward: task.m = rows, task.n = outputs, task.k = inputs + 1; break;
    case ProductRole::kInput: task.m = rows, task.n = inputs, task.k = outputs; break;
    case ProductRole::kWeight: task.m = outputs, task.n = product.bias_only ? 1 : inputs + 1, task.k = rows; break;
  }
  task.tiles_n = (task.n + kColumns - 1) / kColumns;
  return task;
}

template <typename T>
void start(const Tasks& tasks, int blocks, cudaStream_t stream) {
  multiply<T><<<blocks, kThreads, 0, stream>>>(tasks);
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
      case Element::kFloat: start<float>(tasks, blocks, stream); break;
      case Element::kDouble: start<double>(tasks, blocks, stream); break;
      case Element::kBFloat16: start<__nv_bfloat16>(tasks, blocks, stream); break;
      case Element::kHalf: start<__half>(tasks, blocks, stream); break;
    }
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace sweeper::cuda
