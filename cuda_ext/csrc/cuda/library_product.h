// Matrix products of cuBLASLt with what it can do on the way: bias, activation, their gradients.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "dense_kernels.h"

namespace sweeper::cuda {

// An operand in cuBLASLt's column-major words: element (i, j) at data + i + j * leading, or transposed.
struct Operand {
  const void* data;
  int64_t leading;
  bool transposed;
};

// result [m, n] = epilogue(left [m, k] right [k, n]).
struct LibraryProduct {
  Element element;
  bool tf32;
  int64_t m, n, k;
  Operand left;
  Operand right;
  void* result;
  int64_t result_leading;
  cublasLtEpilogue_t epilogue;
  void* bias;               // read or written, [m]; null where the epilogue has none
  void* auxiliary;          // ReLU's bits or GELU's argument; null where the epilogue has none
  int64_t auxiliary_leading;
};

constexpr int64_t kWorkspaceBytes = 32 << 20;   // what the library recommends for Hopper

// Enqueues the product; false where the library has no kernel for it, and nothing was enqueued.
// Throws std::runtime_error where the library fails.
bool run_library_product(const LibraryProduct& product, int device, void* workspace, cudaStream_t stream);

}  // namespace sweeper::cuda
