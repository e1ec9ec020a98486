// Realignment on the GPU: checks, the helper's memory, and the launch.
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

#include "../shift.h"
#include "shift_kernels.h"

namespace sweeper {
namespace {

// Launches count from a number of this process's own, so that no two raise the same flag by accident.
uint64_t next_launch() {
  static std::atomic<uint64_t> last{
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) * 0x9e3779b97f4a7c15ull};
  return last.fetch_add(0x9e3779b97f4a7c15ull);
}

// Memory for the helper of a launch that a graph will replay. The replays tell their flags from the last one's by what
// the last one left there, so nobody else may ever write to it: it is not given back, a flag a tile for each such launch.
void* lasting_helper(int device, int64_t bytes) {
  constexpr int64_t kPiece = 256 * 1024, kAlignment = 64;
  struct Piece {
    char* next = nullptr;
    int64_t left = 0;
  };
  static std::mutex mutex;
  static std::map<int, Piece> pieces;
  const std::lock_guard<std::mutex> lock(mutex);
  Piece& piece = pieces[device];
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (piece.left < bytes) {
    // Taking memory is no part of the graph, and the thread says so for as long as it takes.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    C10_CUDA_CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    void* taken = nullptr;
    const cudaError_t error = cudaMalloc(&taken, std::max(kPiece, bytes));
    C10_CUDA_CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    C10_CUDA_CHECK(error);
    piece = {static_cast<char*>(taken), std::max(kPiece, bytes)};
  }
  void* const helper = piece.next;
  piece.next += bytes;
  piece.left -= bytes;
  return helper;
}

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

void shift(const at::Tensor& storage, int64_t rows, int64_t width_in, int64_t width_out, uint64_t fill, bool paper) {
  if (rows == 0 || width_out == 0) return;
  const c10::cuda::CUDAGuard guard(storage.device());
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  const cuda::Shift wanted{storage.mutable_data_ptr(), rows, width_in, width_out,
                           static_cast<int>(storage.element_size()), fill};
  const auto bytes = storage.options().dtype(at::kByte);
  if (paper) {
    const at::Tensor helper = at::empty({rows * (rows - 1) / 2 * storage.element_size()}, bytes);
    C10_CUDA_CHECK(cuda::run_paper_shift(wanted, helper.mutable_data_ptr(), stream));
    return;
  }
  const cuda::ShiftPlan plan = cuda::plan_shift(wanted, storage.device().index());
  if (plan.path == cuda::ShiftPath::kOnce && is_captured(stream)) {
    void* const helper = lasting_helper(storage.device().index(), plan.helper_bytes);
    C10_CUDA_CHECK(cuda::run_shift(wanted, plan, helper, next_launch(), stream));
    return;
  }
  const at::Tensor helper = at::empty({plan.helper_bytes}, bytes);
  C10_CUDA_CHECK(cuda::run_shift(wanted, plan, helper.mutable_data_ptr(), next_launch(), stream));
}

void shift_right_(at::Tensor storage, int64_t rows, int64_t cols, double fill, c10::string_view algorithm) {
  check_storage("shift_right_", storage, rows, cols);
  const bool paper = is_paper("shift_right_", {algorithm.data(), algorithm.size()}, rows, cols);
  shift(storage, rows, cols, cols + 1, bits_of(storage, fill), paper);
}

void shift_left_(at::Tensor storage, int64_t rows, int64_t cols, c10::string_view algorithm) {
  check_storage("shift_left_", storage, rows, cols);
  const bool paper = is_paper("shift_left_", {algorithm.data(), algorithm.size()}, rows, cols);
  shift(storage, rows, cols + 1, cols, 0, paper);
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CUDA, m) {
  m.impl("shift_right_", &shift_right_);
  m.impl("shift_left_", &shift_left_);
}

}  // namespace sweeper
