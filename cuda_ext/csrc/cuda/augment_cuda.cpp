// Augmented pictures on the GPU: checks and the launch.
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "../augment_checks.h"
#include "augment_kernels.h"

namespace sweeper {
namespace {

template <typename T>
void run(const at::Tensor& pictures, const at::Tensor& result, const at::Tensor& positions, const at::Tensor& start,
         const Augmentations& what) {
  const auto strides = result.strides();
  const cuda::AugmentedPictures<T> all{static_cast<const T*>(pictures.const_data_ptr()),
                                       static_cast<T*>(result.mutable_data_ptr()),
                                       positions.const_data_ptr<int64_t>(),
                                       start.const_data_ptr<int64_t>(),
                                       result.size(0),
                                       result.size(1),
                                       result.size(2),
                                       result.size(3),
                                       strides[0],
                                       strides[1],
                                       strides[2],
                                       strides[3],
                                       what};
  C10_CUDA_CHECK(cuda::run_augmented(all, c10::cuda::getCurrentCUDAStream()));
}

at::Tensor augmented(const at::Tensor& pictures, const at::Tensor& positions, const at::Tensor& start, bool flip,
                     int64_t shift, int64_t cutout) {
  const Augmentations what{flip, shift, cutout};
  check_augmented(pictures, positions, start, what);
  TORCH_CHECK(pictures.size(0) * pictures.size(2) * pictures.size(3) < (int64_t{1} << 38),
              "augmented: expected fewer than 2^38 pixels, got ", pictures.sizes(), "; pass fewer pictures");
  const c10::cuda::CUDAGuard guard(pictures.device());
  at::Tensor result = like_pictures(pictures);
  switch (result.element_size()) {
    case 2:
      run<uint16_t>(pictures, result, positions, start, what);
      break;
    case 4:
      run<uint32_t>(pictures, result, positions, start, what);
      break;
    case 8:
      run<uint64_t>(pictures, result, positions, start, what);
      break;
    default:
      TORCH_CHECK(false, "augmented: expected values of 2, 4 or 8 bytes, got ", pictures.dtype());
  }
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CUDA, m) {
  m.impl("augmented", &augmented);
}

}  // namespace sweeper
