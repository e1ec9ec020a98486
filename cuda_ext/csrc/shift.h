// What the realignment operators ask of their arguments, the same on every device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <c10/util/safe_numerics.h>

#include <cstring>
#include <string_view>

namespace sweeper {

inline void check_element_type(const char* name, const at::Tensor& tensor) {
  const auto type = tensor.scalar_type();
  TORCH_CHECK(type == at::kFloat || type == at::kDouble || type == at::kBFloat16 || type == at::kHalf, name,
              ": expected float32, float64, bfloat16 or float16, got ", tensor.dtype());
}

// Elements that a buffer needs for a matrix [rows, cols] and a column more.
inline int64_t capacity_of(const char* name, int64_t rows, int64_t cols) {
  TORCH_CHECK(rows >= 0 && cols >= 0, name, ": expected rows >= 0 and cols >= 0, got rows=", rows, ", cols=", cols);
  uint64_t needed = 0;
  const bool overflows =
      c10::mul_overflows(static_cast<uint64_t>(rows), static_cast<uint64_t>(cols) + 1, &needed) ||
      needed > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  TORCH_CHECK(!overflows, name, ": rows=", rows, " times cols + 1=", cols, " + 1 is more than any buffer holds");
  return static_cast<int64_t>(needed);
}

inline void check_storage(const char* name, const at::Tensor& storage, int64_t rows, int64_t cols) {
  check_element_type(name, storage);
  TORCH_CHECK(storage.is_contiguous(), name, ": expected a contiguous storage, got strides ", storage.strides(),
              " for sizes ", storage.sizes(), "; pass its .contiguous() copy or the buffer it views");
  const int64_t needed = capacity_of(name, rows, cols);
  TORCH_CHECK(storage.numel() >= needed, name, ": expected a storage of at least rows * (cols + 1) = ", needed,
              " elements for rows=", rows, ", cols=", cols, ", got ", storage.numel());
}

// True for the paper's algorithm, false for ours.
inline bool is_paper(const char* name, std::string_view algorithm, int64_t rows, int64_t cols) {
  if (algorithm == "single-pass") return false;
  TORCH_CHECK(algorithm == "paper", name, ": expected algorithm 'single-pass' or 'paper', got '", algorithm, "'");
  TORCH_CHECK(rows <= cols + 1, name, ": the paper's algorithm is right only where rows <= cols + 1, got rows=", rows,
              ", cols=", cols, "; use algorithm='single-pass'");
  return true;
}

// The bits of `fill` as an element of the tensor.
inline uint64_t bits_of(const at::Tensor& like, double fill) {
  uint64_t bits = 0;
  const auto keep = [&](auto value) { std::memcpy(&bits, &value, sizeof(value)); };
  switch (like.scalar_type()) {
    case at::kFloat: keep(static_cast<float>(fill)); break;
    case at::kDouble: keep(fill); break;
    case at::kBFloat16: keep(static_cast<at::BFloat16>(static_cast<float>(fill))); break;
    default: keep(static_cast<at::Half>(static_cast<float>(fill))); break;
  }
  return bits;
}

}  // namespace sweeper
