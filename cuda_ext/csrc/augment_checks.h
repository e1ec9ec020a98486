// What augmented pictures ask of their arguments, the same on every device.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include "augment.h"

namespace sweeper {

inline void check_augmented(const at::Tensor& pictures, const at::Tensor& positions, const at::Tensor& start,
                                  const Augmentations& what) {
  TORCH_CHECK(pictures.dim() == 4 && pictures.is_floating_point(),
              "augmented: expected pictures [n, channels, height, width] of a floating type, got ", pictures.dtype(), " ",
              pictures.sizes());
  const bool dense = pictures.is_contiguous(), last = pictures.is_contiguous(at::MemoryFormat::ChannelsLast);
  TORCH_CHECK(dense || last, "augmented: expected pictures that lie dense or channels last, got strides ",
              pictures.strides());
  TORCH_CHECK(positions.scalar_type() == at::kLong && positions.device() == pictures.device() &&
                  positions.is_contiguous() && positions.dim() == 1 && positions.numel() == pictures.size(0),
              "augmented: expected contiguous int64 positions [", pictures.size(0), "] on ", pictures.device(), ", got ",
              positions.dtype(), " ", positions.sizes(), " on ", positions.device());
  TORCH_CHECK(start.scalar_type() == at::kLong && start.device() == pictures.device() && start.numel() == 1,
              "augmented: expected start as one int64 on ", pictures.device(), ", got ", start.dtype(), " ",
              start.sizes(), " on ", start.device());
  TORCH_CHECK(what.shift >= 0 && what.cutout >= 0, "augmented: expected shift and cutout of 0 pixels or more, got ",
              what.shift, " and ", what.cutout);
}

// An empty result, laid out as the pictures are: dense, or channels last in memory.
inline at::Tensor like_pictures(const at::Tensor& pictures) {
  const auto layout = pictures.is_contiguous() ? at::MemoryFormat::Contiguous : at::MemoryFormat::ChannelsLast;
  return at::empty(pictures.sizes(), pictures.options(), layout);
}

}  // namespace sweeper
