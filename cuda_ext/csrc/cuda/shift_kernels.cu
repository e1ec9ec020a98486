// One pass over the matrix, in place.
//
// The output is cut into tiles. A block copies a tile's source into shared memory, raises the tile's flag, waits for the
// flags of the tiles whose source it is about to overwrite, and writes. Tiles go in the order in which they can: from
// the end when rows grow, from the start when they shrink; a tile waits only for tiles before it in that order.
#include "shift_kernels.h"

#include <algorithm>
#include <type_traits>

#include "shift_tile.cuh"

namespace sweeper::cuda {
namespace {

// Measured on an H100: fewer bytes under way, or more threads for them, cost bandwidth.
constexpr int kThreads = 256;
constexpr int kTileBytes = 36 * 1024;
constexpr int kStages = 3;

// Flags need no order with the data around them: a flag goes up once the loads before it have returned, and nothing is
// written before the flags it waits for have been seen.
__device__ uint64_t peek(const uint64_t* flag) {
  uint64_t value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
}

__device__ uint32_t peek(const uint32_t* flag) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

__device__ void raise(uint64_t* flag, uint64_t value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

__device__ void raise(uint32_t* flag, uint32_t value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

// Large matrices: each block takes tile after tile by an atomic ticket and has kStages of them under way: one is written,
// the next has been loaded and its flag raised, the others are being loaded. A flag is raised before the block waits for
// anything that comes before its tile, so the order needs no luck.
template <typename T, bool Right, Rows Kind>
__global__ void __launch_bounds__(kThreads)
    shift_streaming(Matrix<T> m, int64_t tiles, uint32_t* helper, int slot_elements) {
  extern __shared__ __align__(16) unsigned char storage[];
  T* shared = reinterpret_cast<T*>(storage);
  __shared__ int64_t taken[kStages];
  __shared__ Extent extents[kStages];
  uint32_t* flags = helper + 1;
  const auto take = [&]() -> int64_t {
    const int64_t ticket = atomicAdd(helper, 1);
    return ticket >= tiles ? -1 : Right ? tiles - 1 - ticket : ticket;
  };
  const auto load = [&](int slot) {
    const int64_t tile = taken[slot];
    if (tile >= 0) {
      const Extent extent = extent_of<T, Right>(m, tile);
      load_tile(m, extent, shared + int64_t(slot) * slot_elements);
      if (threadIdx.x == 0) extents[slot] = extent;
    }
    __pipeline_commit();
  };
  for (int slot = 0; slot < kStages - 1; ++slot) {
    if (threadIdx.x == 0) taken[slot] = take();
    __syncthreads();
    load(slot);
  }
  __pipeline_wait_prior(kStages - 2);
  if (threadIdx.x == 0) taken[kStages - 1] = take();
  __syncthreads();
  if (threadIdx.x == 0 && taken[0] >= 0) raise(flags + taken[0], 1);
  for (int slot = 0;; slot = slot + 1 < kStages ? slot + 1 : 0) {
    const int64_t tile = taken[slot];
    if (tile < 0) return;
    const int next = slot + 1 < kStages ? slot + 1 : 0, free = slot > 0 ? slot - 1 : kStages - 1;
    const Extent extent = extents[slot];
    const int64_t awaited = extent.readers_first + threadIdx.x;
    const bool waits = awaited <= extent.readers_last && awaited != tile;
    uint32_t seen = 1;
    if (waits) seen = peek(flags + awaited);
    __pipeline_wait_prior(kStages - 3);
    __syncthreads();  // the next tile is loaded; the tile before this one is written, its slot free
    load(free);
    int64_t ticket = 0;
    if (threadIdx.x == 0) {
      if (taken[next] >= 0) raise(flags + taken[next], 1);
      ticket = take();
    }
    if (waits)
      while (seen == 0) seen = peek(flags + awaited);
    __syncthreads();
    if (threadIdx.x == 0) taken[slot] = ticket;  // read after the next barrier, when this slot is the free one
    write_tile<T, Right, Kind>(m, extent, shared + int64_t(slot) * slot_elements);
  }
}

__device__ uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;  // splitmix64's finaliser
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

// Small matrices: one tile a block. The helper starts with anything in it, which saves the launch that would clear it.
// Its first word, mixed with a number of this launch's own, is what a raised flag holds; the last act is to change that
// word, so that the same launch replayed by a graph, its helper to itself, does not take old flags for new ones. A block
// waits only for blocks of lower index, which the hardware starts first; the last one waits for all, and changes the word.
template <typename T, bool Right, Rows Kind>
__global__ void __launch_bounds__(kThreads) shift_once(Matrix<T> m, uint64_t* helper, uint64_t number) {
  extern __shared__ __align__(16) unsigned char storage[];
  T* shared = reinterpret_cast<T*>(storage);
  uint64_t* flags = helper + 1;
  const uint64_t epoch = peek(helper);
  const int64_t last = gridDim.x - 1;
  const int64_t tile = Right ? last - blockIdx.x : blockIdx.x;
  const Extent extent = extent_of<T, Right>(m, tile);
  load_tile(m, extent, shared);
  __pipeline_commit();
  const uint64_t raised = mixed(epoch + number);
  __pipeline_wait_prior(0);
  __syncthreads();
  if (threadIdx.x == 0) raise(flags + tile, raised);
  const bool closes = blockIdx.x == last;
  const int64_t until = closes ? last : extent.readers_last;
  for (int64_t awaited = (closes ? 0 : extent.readers_first) + threadIdx.x; awaited <= until; awaited += blockDim.x)
    if (awaited != tile)
      while (peek(flags + awaited) != raised) {
      }
  __syncthreads();
  if (closes && threadIdx.x == 0) raise(helper, mixed(raised));
  write_tile<T, Right, Kind>(m, extent, shared);
}

// Shared memory of one tile: its source, which has a column more a row when rows shrink, and the cut vectors.
int slot_bytes(const Shift& shift, int tile_bytes) {
  const int64_t elements = tile_bytes / shift.element_bytes;
  const int64_t skipped = shift.width_out < shift.width_in ? elements / shift.width_out + 2 : 0;
  const int64_t bytes = (elements + skipped) * shift.element_bytes + 2 * kVectorBytes;
  return static_cast<int>((bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes);
}

template <typename T>
Matrix<T> matrix_of(const Shift& shift, int tile_bytes) {
  const auto address = reinterpret_cast<uintptr_t>(shift.data);
  Matrix<T> m;
  m.head = static_cast<int64_t>(address % kVectorBytes / sizeof(T));
  m.base = reinterpret_cast<T*>(address) - m.head;
  m.count = shift.rows * shift.width_out;
  m.capacity = shift.rows * std::max(shift.width_in, shift.width_out);
  m.sources = shift.rows * shift.width_in;
  m.width_in = divisor(shift.width_in);
  m.width_out = divisor(shift.width_out);
  m.fill = static_cast<T>(shift.fill);
  m.tile = tile_bytes / static_cast<int>(sizeof(T));
  m.magic = ((uint64_t(1) << 40) + shift.width_out - 1) / shift.width_out;
  return m;
}

template <typename T, bool Right, Rows Kind>
cudaError_t run(const Shift& shift, const ShiftPlan& plan, void* helper, uint64_t number, cudaStream_t stream) {
  const Matrix<T> m = matrix_of<T>(shift, plan.tile_bytes);
  const auto blocks = static_cast<unsigned>(plan.blocks);
  const auto allow = [&](auto* kernel) {
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.shared_bytes);
  };
  if (plan.path == ShiftPath::kOnce) {
    const cudaError_t error = allow(&shift_once<T, Right, Kind>);
    if (error != cudaSuccess) return error;
    shift_once<T, Right, Kind>
        <<<blocks, kThreads, plan.shared_bytes, stream>>>(m, static_cast<uint64_t*>(helper), number);
    return cudaGetLastError();
  }
  cudaError_t error = cudaMemsetAsync(helper, 0, plan.helper_bytes, stream);
  if (error == cudaSuccess) error = allow(&shift_streaming<T, Right, Kind>);
  if (error != cudaSuccess) return error;
  const int slot = slot_bytes(shift, plan.tile_bytes) / static_cast<int>(sizeof(T));
  shift_streaming<T, Right, Kind>
      <<<blocks, kThreads, plan.shared_bytes, stream>>>(m, plan.tiles, static_cast<uint32_t*>(helper), slot);
  return cudaGetLastError();
}

template <typename T>
cudaError_t run_any(const Shift& shift, const ShiftPlan& plan, void* helper, uint64_t number, cudaStream_t stream) {
  const bool right = shift.width_out > shift.width_in;
  const auto go = [&](auto kind) {
    constexpr Rows Kind = decltype(kind)::value;
    return right ? run<T, true, Kind>(shift, plan, helper, number, stream)
                 : run<T, false, Kind>(shift, plan, helper, number, stream);
  };
  if (shift.width_out < kVector<T>) return go(std::integral_constant<Rows, Rows::kTiny>());
  if (shift.width_out < plan.tile_bytes / static_cast<int64_t>(sizeof(T)))
    return go(std::integral_constant<Rows, Rows::kShort>());
  return go(std::integral_constant<Rows, Rows::kLong>());
}

constexpr int kStreamingBlocks = 2;         // a multiprocessor's
constexpr int kReservedShared = 1024;       // the runtime's own share of a block
constexpr int64_t kFlagShare = 1024;        // matrix bytes for each helper byte, at least
constexpr int64_t kGrain = kVectorBytes * kThreads / 4;

int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  cudaDeviceGetAttribute(&value, name, device);
  return value;
}

}  // namespace

ShiftPlan plan_shift(const Shift& shift, int device) {
  const int processors = attribute(cudaDevAttrMultiProcessorCount, device);
  const int shared = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  const int shared_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  const int64_t bytes = shift.rows * shift.width_out * shift.element_bytes + kVectorBytes;
  ShiftPlan plan{};
  plan.path = ShiftPath::kOnce;
  const int64_t each = std::max((bytes + processors - 1) / processors, kFlagShare * int64_t(sizeof(uint64_t)) + 512);
  plan.tile_bytes = static_cast<int>(std::min<int64_t>((each + kGrain - 1) / kGrain * kGrain, INT32_MAX / 4));
  plan.tiles = plan.blocks = (bytes + plan.tile_bytes - 1) / plan.tile_bytes;
  plan.helper_bytes = (plan.tiles + 1) * static_cast<int64_t>(sizeof(uint64_t));
  if (each <= shared_block) {
    plan.shared_bytes = slot_bytes(shift, plan.tile_bytes);
    if (plan.shared_bytes <= shared_block) return plan;
  }
  plan.path = ShiftPath::kStreaming;
  plan.tile_bytes = kTileBytes;
  // A multiprocessor of little shared memory, or rows so short that their skipped columns count, takes smaller tiles.
  const int budget = std::min(shared_block, shared / kStreamingBlocks - kReservedShared);
  while (kStages * slot_bytes(shift, plan.tile_bytes) > budget) plan.tile_bytes -= kGrain;
  plan.tiles = (bytes + plan.tile_bytes - 1) / plan.tile_bytes;
  plan.shared_bytes = kStages * slot_bytes(shift, plan.tile_bytes);
  const int64_t fitting = std::max(1, shared / (plan.shared_bytes + kReservedShared));
  plan.blocks = std::min<int64_t>(plan.tiles, processors * fitting);
  plan.helper_bytes = (plan.tiles + 1) * static_cast<int64_t>(sizeof(uint32_t));
  return plan;
}

cudaError_t run_shift(const Shift& shift, const ShiftPlan& plan, void* helper, uint64_t number, cudaStream_t stream) {
  switch (shift.element_bytes) {
    case 2: return run_any<uint16_t>(shift, plan, helper, number, stream);
    case 4: return run_any<uint32_t>(shift, plan, helper, number, stream);
    default: return run_any<uint64_t>(shift, plan, helper, number, stream);
  }
}

}  // namespace sweeper::cuda
