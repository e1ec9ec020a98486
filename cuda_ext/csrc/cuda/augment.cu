// Augmented pictures on the GPU in one pass: a thread makes a pixel with all its channels.
#include "augment_kernels.h"

namespace sweeper::cuda {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads) augmented_kernel(AugmentedPictures<T> all) {
  const int64_t pixel = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t pixels = all.height * all.width;
  if (pixel >= all.count * pixels) return;
  const int64_t n = pixel / pixels, inside = pixel - n * pixels;
  const int64_t y = inside / all.width, x = inside - y * all.width;
  const Movement move = movement(all.positions[n], *all.start, all.what, all.height, all.width);
  int64_t row = 0, column = 0;
  const bool shown = find_source(move, all.what.cutout, all.height, all.width, y, x, row, column);
  const int64_t own = n * all.of_picture + y * all.of_row + x * all.of_column;
  const int64_t source = n * all.of_picture + row * all.of_row + column * all.of_column;
  for (int64_t c = 0; c < all.channels; ++c) {
    all.result[own + c * all.of_channel] = shown ? all.pictures[source + c * all.of_channel] : T(0);
  }
}

}  // namespace

template <typename T>
cudaError_t run_augmented(const AugmentedPictures<T>& all, cudaStream_t stream) {
  const int64_t pixels = all.count * all.height * all.width;
  if (pixels == 0 || all.channels == 0) return cudaSuccess;
  const int64_t blocks = (pixels + kThreads - 1) / kThreads;
  if (blocks > INT32_MAX) return cudaErrorInvalidConfiguration;
  augmented_kernel<T><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(all);
  return cudaGetLastError();
}

// Values are moved and never computed with, so that their size is all that matters.
template cudaError_t run_augmented<uint16_t>(const AugmentedPictures<uint16_t>&, cudaStream_t);
template cudaError_t run_augmented<uint32_t>(const AugmentedPictures<uint32_t>&, cudaStream_t);
template cudaError_t run_augmented<uint64_t>(const AugmentedPictures<uint64_t>&, cudaStream_t);

}  // namespace sweeper::cuda
