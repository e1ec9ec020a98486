// Augmented pictures on the GPU: what the host side asks of the kernel. No torch here, so that it compiles quickly.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "../augment.h"

namespace sweeper::cuda {

// Strides of pictures and result are the same, in values. `start` is read on the device.
template <typename T>
struct AugmentedPictures {
  const T* pictures;
  T* result;
  const int64_t* positions;
  const int64_t* start;
  int64_t count, channels, height, width;
  int64_t of_picture, of_channel, of_row, of_column;
  Augmentations what;
};

template <typename T>
cudaError_t run_augmented(const AugmentedPictures<T>& pictures, cudaStream_t stream);

}  // namespace sweeper::cuda
