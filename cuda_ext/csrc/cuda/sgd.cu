// A step of gradient descent in one pass. Its three numbers lie on the device, so that a recorded step serves any.
#include <algorithm>

#include "sgd_kernels.h"

namespace sweeper::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 2048;

template <typename T>
struct alignas(16) Pack {
  T values[16 / sizeof(T)];
};

// As torch's fused kernel computes: products in float64, what is kept in the weights' type.
template <typename T, bool kMomentum>
__device__ __forceinline__ void learn(T& weight, T gradient, T& velocity, double rate, double momentum, double decay) {
  if (decay != 0) gradient += decay * weight;
  if constexpr (kMomentum) gradient = velocity = momentum * velocity + gradient;
  weight -= rate * gradient;
}

template <typename T, bool kMomentum>
__global__ void __launch_bounds__(kThreads) sgd_kernel(SgdStep<T> step) {
  constexpr int kEach = 16 / sizeof(T);
  const double rate = step.numbers[0], momentum = step.numbers[1], decay = step.numbers[2];
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;
  const int64_t packs = step.count / kEach;
  for (int64_t i = first; i < packs; i += threads) {
    Pack<T> weights = reinterpret_cast<Pack<T>*>(step.weights)[i];
    const Pack<T> gradients = reinterpret_cast<const Pack<T>*>(step.gradients)[i];
    Pack<T> velocities{};
    if constexpr (kMomentum) velocities = reinterpret_cast<Pack<T>*>(step.velocity)[i];
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      learn<T, kMomentum>(weights.values[j], gradients.values[j], velocities.values[j], rate, momentum, decay);
    }
    reinterpret_cast<Pack<T>*>(step.weights)[i] = weights;
    if constexpr (kMomentum) reinterpret_cast<Pack<T>*>(step.velocity)[i] = velocities;
  }
  for (int64_t i = packs * kEach + first; i < step.count; i += threads) {
    T velocity = kMomentum ? step.velocity[i] : T(0);
    learn<T, kMomentum>(step.weights[i], step.gradients[i], velocity, rate, momentum, decay);
    if constexpr (kMomentum) step.velocity[i] = velocity;
  }
}

bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

template <typename T>
cudaError_t run_sgd_step(const SgdStep<T>& step, cudaStream_t stream) {
  if (step.count == 0) return cudaSuccess;
  if (!is_aligned(step.weights) || !is_aligned(step.gradients) || !is_aligned(step.velocity)) {
    return cudaErrorMisalignedAddress;
  }
  const int64_t wanted = (step.count / (16 / sizeof(T)) + kThreads) / kThreads;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(wanted, kMostBlocks));
  if (step.velocity != nullptr) {
    sgd_kernel<T, true><<<blocks, kThreads, 0, stream>>>(step);
  } else {
    sgd_kernel<T, false><<<blocks, kThreads, 0, stream>>>(step);
  }
  return cudaGetLastError();
}

template cudaError_t run_sgd_step<float>(const SgdStep<float>&, cudaStream_t);
template cudaError_t run_sgd_step<double>(const SgdStep<double>&, cudaStream_t);

}  // namespace sweeper::cuda
