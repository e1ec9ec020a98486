// Activations and their derivatives, on values of the accumulating type.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "dense_kernels.h"

namespace sweeper::cuda {

template <typename T>
struct Accumulator { using type = float; };
template <>
struct Accumulator<double> { using type = double; };
template <typename T>
using accumulator = typename Accumulator<T>::type;

template <typename T>
__device__ accumulator<T> widened(T value) {
  return static_cast<accumulator<T>>(value);
}
template <>
__device__ inline float widened<__nv_bfloat16>(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
template <>
__device__ inline float widened<__half>(__half value) {
  return __half2float(value);
}

template <typename T>
__device__ T narrowed(accumulator<T> value) {
  return static_cast<T>(value);
}
template <>
__device__ inline __nv_bfloat16 narrowed<__nv_bfloat16>(float value) {
  return __float2bfloat16(value);
}
template <>
__device__ inline __half narrowed<__half>(float value) {
  return __float2half(value);
}

// GELU with the tanh approximation (Hendrycks and Gimpel, 2016, section 2), the one that product epilogues compute:
// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
template <typename A>
__device__ A gelu(A x) {
  const A inner = A(0.7978845608028654) * (x + A(0.044715) * x * x * x);
  return A(0.5) * x * (A(1) + tanh(inner));
}

template <typename A>
__device__ A gelu_derivative(A x) {
  const A inner = A(0.7978845608028654) * (x + A(0.044715) * x * x * x);
  const A t = tanh(inner);
  const A slope = A(0.7978845608028654) * (A(1) + A(3 * 0.044715) * x * x);
  return A(0.5) * (A(1) + t) + A(0.5) * x * (A(1) - t * t) * slope;
}

template <typename A>
__device__ A activated(Activation activation, A z) {
  switch (activation) {
    case Activation::kRelu: return z > A(0) || z != z ? z : A(0);  // a NaN stays one
    case Activation::kGelu: return gelu(z);
    case Activation::kSigmoid: return A(1) / (A(1) + exp(-z));
    default: return z;
  }
}

template <typename T>
__device__ const T& at(const View& view, int64_t i, int64_t j) {
  return static_cast<const T*>(view.data)[i * view.row + j * view.column];
}

template <typename T>
__device__ T& put(const View& view, int64_t i, int64_t j) {
  return static_cast<T*>(view.data)[i * view.row + j * view.column];
}

// A gradient through an activation, from what the forward pass kept: GELU's argument, else the output. What ReLU cut off
// gives none, not even of a NaN or an infinity.
template <typename A>
__device__ A through(Activation activation, A kept, A gradient) {
  switch (activation) {
    case Activation::kRelu: return kept > A(0) ? gradient : A(0);
    case Activation::kGelu: return gradient * gelu_derivative(kept);
    case Activation::kSigmoid: return gradient * (kept * (A(1) - kept));
    default: return gradient;
  }
}

}  // namespace sweeper::cuda
