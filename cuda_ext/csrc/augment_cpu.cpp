// Augmented pictures on the CPU.
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include "augment_checks.h"

namespace sweeper {
namespace {

at::Tensor augmented(const at::Tensor& pictures, const at::Tensor& positions, const at::Tensor& start, bool flip,
                     int64_t shift, int64_t cutout) {
  const Augmentations what{flip, shift, cutout};
  check_augmented(pictures, positions, start, what);
  at::Tensor result = like_pictures(pictures);
  const int64_t channels = result.size(1), height = result.size(2), width = result.size(3);
  const auto strides = result.strides();
  const int64_t* places = positions.const_data_ptr<int64_t>();
  const int64_t state = result.numel() ? *start.const_data_ptr<int64_t>() : 0;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, pictures.scalar_type(), "augmented", [&] {
    const auto* from = pictures.const_data_ptr<scalar_t>();
    auto* to = result.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, result.size(0), 4, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const Movement move = movement(places[n], state, what, height, width);
        for (int64_t y = 0; y < height; ++y) {
          for (int64_t x = 0; x < width; ++x) {
            int64_t row = 0, column = 0;
            const bool shown = find_source(move, cutout, height, width, y, x, row, column);
            const int64_t own = n * strides[0] + y * strides[2] + x * strides[3];
            const int64_t source = n * strides[0] + row * strides[2] + column * strides[3];
            for (int64_t c = 0; c < channels; ++c) {
              to[own + c * strides[1]] = shown ? from[source + c * strides[1]] : scalar_t(0);
            }
          }
        }
      }
    });
  });
  return result;
}

}  // namespace

TORCH_LIBRARY_IMPL(sweeper, CPU, m) {
  m.impl("augmented", &augmented);
}

}  // namespace sweeper
