// The paper's algorithm (section 4): a first kernel saves the elements that the shift would overwrite before they are
// read, rows (rows - 1) / 2 of them; a second kernel shifts each row by itself. Right only where rows <= cols + 1.
//
// The paper finds an element's row with a float square root (eq. 4.2.3), which is wrong past 2^24 elements, and holds a
// row in shared memory; here the row comes from integers, and a row goes in pieces, in the order that spares its own
// elements, so that neither bounds the matrix.
#include <algorithm>

#include "shift_kernels.h"

namespace sweeper::cuda {
namespace {

constexpr int kSaveThreads = 128;   // 4 warps, eq. 4.2.2
constexpr int kMoveThreads = 256;
constexpr int kPerThread = 8;

// The row of element `index` of the triangle whose row i (from 1) has i elements, and its place in that row.
__device__ void row_in_triangle(int64_t index, int64_t& row, int64_t& place) {
  row = static_cast<int64_t>((sqrt(1.0 + 8.0 * static_cast<double>(index)) - 1.0) / 2.0) + 1;
  while (row * (row - 1) / 2 > index) --row;       // the root is only near: integers decide
  while (row * (row + 1) / 2 <= index) ++row;
  place = index - row * (row - 1) / 2;
}

// Rows that grow overwrite the first i elements of row i; rows that shrink the last i of row i - 1.
template <typename T, bool Right>
__global__ void save(const T* matrix, T* helper, int64_t saved, int64_t width) {
  for (int64_t index = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; index < saved;
       index += gridDim.x * int64_t(blockDim.x)) {
    int64_t row, place;
    row_in_triangle(index, row, place);
    helper[index] = Right ? matrix[row * width + place] : matrix[row * width - row + place];
  }
}

template <typename T, bool Right>
__global__ void move(T* matrix, const T* helper, int64_t rows, int64_t cols, T fill) {
  const int64_t width_in = Right ? cols : cols + 1, width_out = Right ? cols + 1 : cols;
  const int64_t piece = kMoveThreads * kPerThread, pieces = (cols + piece - 1) / piece;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* source = matrix + row * width_in + (Right ? 0 : 1);
    T* target = matrix + row * width_out + (Right ? 1 : 0);
    // The triangle's row of this row's saved elements, and the first column that was saved.
    const int64_t triangle = Right ? row : row + 1;
    const T* kept = helper + triangle * (triangle - 1) / 2;
    const int64_t from = Right ? 0 : cols - triangle, to = Right ? row : row + 1 < rows ? cols : from;
    for (int64_t p = 0; p < pieces; ++p) {
      const int64_t start = (Right ? pieces - 1 - p : p) * piece;
      T held[kPerThread];
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) {
        const int64_t column = start + e * kMoveThreads + threadIdx.x;
        if (column < cols) held[e] = column >= from && column < to ? kept[column - from] : source[column];
      }
      __syncthreads();
#pragma unroll
      for (int e = 0; e < kPerThread; ++e) {
        const int64_t column = start + e * kMoveThreads + threadIdx.x;
        if (column < cols) target[column] = held[e];
      }
      __syncthreads();
    }
    if (Right && threadIdx.x == 0) target[-1] = fill;
  }
}

template <typename T, bool Right>
cudaError_t run(const Shift& shift, void* helper, cudaStream_t stream) {
  T* matrix = static_cast<T*>(shift.data);
  const int64_t cols = std::min(shift.width_in, shift.width_out), saved = shift.rows * (shift.rows - 1) / 2;
  constexpr int64_t kMostBlocks = 1 << 30;
  if (saved > 0) {
    const auto blocks = static_cast<unsigned>(std::min((saved + kSaveThreads - 1) / kSaveThreads, kMostBlocks));
    save<T, Right><<<blocks, kSaveThreads, 0, stream>>>(matrix, static_cast<T*>(helper), saved, shift.width_in);
  }
  const auto blocks = static_cast<unsigned>(std::min(shift.rows, kMostBlocks));
  move<T, Right><<<blocks, kMoveThreads, 0, stream>>>(matrix, static_cast<const T*>(helper), shift.rows, cols,
                                                      static_cast<T>(shift.fill));
  return cudaGetLastError();
}

template <typename T>
cudaError_t run_either(const Shift& shift, void* helper, cudaStream_t stream) {
  return shift.width_out > shift.width_in ? run<T, true>(shift, helper, stream) : run<T, false>(shift, helper, stream);
}

}  // namespace

cudaError_t run_paper_shift(const Shift& shift, void* helper, cudaStream_t stream) {
  switch (shift.element_bytes) {
    case 2: return run_either<uint16_t>(shift, helper, stream);
    case 4: return run_either<uint32_t>(shift, helper, stream);
    default: return run_either<uint64_t>(shift, helper, stream);
  }
}

}  // namespace sweeper::cuda
