// In-place realignment on the GPU: what the host side asks of the kernels. No torch here, so that it compiles quickly.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace sweeper::cuda {

// A shift in place. `width_in` and `width_out` are the row lengths before and after; they differ by one.
struct Shift {
  void* data;             // first element
  int64_t rows;
  int64_t width_in;
  int64_t width_out;
  int element_bytes;      // 2, 4 or 8
  uint64_t fill;          // the bits that go to column 0 when a column is added
};

// Which kernel shifts a matrix, by its size.
enum class ShiftPath {
  kOnce,       // a tile a block: what fits in the shared memory of all multiprocessors
  kStreaming,  // tile after tile: any size
};

// How a shift is laid over the device: decided on the host, so that the helper can be allocated.
struct ShiftPlan {
  ShiftPath path;
  int64_t tiles;
  int tile_bytes;
  int64_t blocks;
  int shared_bytes;       // a block's
  int64_t helper_bytes;   // flags
};

// The first path, in their order, that the matrix and the device allow.
ShiftPlan plan_shift(const Shift& shift, int device);

// Enqueues the shift. `helper` holds plan.helper_bytes, aligned to 8, and needs no initial value; `number` differs from
// that of other launches. Where the launch is captured for replays and the path is kOnce, nobody else may write there.
cudaError_t run_shift(const Shift& shift, const ShiftPlan& plan, void* helper, uint64_t number, cudaStream_t stream);

// The paper's algorithm (section 4): a kernel saves what the shift would overwrite, a second one shifts.
// `helper` holds rows (rows - 1) / 2 elements; right only where rows <= cols + 1.
cudaError_t run_paper_shift(const Shift& shift, void* helper, cudaStream_t stream);

}  // namespace sweeper::cuda
