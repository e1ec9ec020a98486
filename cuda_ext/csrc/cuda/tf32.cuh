// Products of small tiles on the tensor cores, in tf32.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace sweeper::cuda {

__device__ __forceinline__ uint32_t as_tf32(float value) {
#if __CUDA_ARCH__ >= 800
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
#else
  return __float_as_uint(value);
#endif
}

__device__ __forceinline__ float value_of(float value) { return value; }
__device__ __forceinline__ float value_of(__nv_bfloat16 value) { return __bfloat162float(value); }

// sums[16 x 8] += a[16 x 8] b[8 x 8]. With g = lane / 4 and t = lane % 4, a lane has of a rows g and g + 8 of columns t and
// t + 4, of b rows t and t + 4 of column g, of the sums rows g and g + 8 of columns 2 t and 2 t + 1.
__device__ __forceinline__ void multiply_add(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  __trap();  // the host side asks for tf32 first
#endif
}

constexpr int kSlicesAdded = 8;  // of partial sums, side by side

// The blocks' partial sums, added in their order: of [blocks, rows, columns] the first `kept` columns of each row.
static __global__ void __launch_bounds__(32 * kSlicesAdded)
    add_partial(const float* partial, int blocks, int count, int columns, int kept, float* result) {
  __shared__ float slices[kSlicesAdded][32];
  const int place = blockIdx.x * 32 + threadIdx.x;
  float sum = 0.0f;
  if (place < count) {
    for (int block = threadIdx.y; block < blocks; block += kSlicesAdded) {
      sum += partial[static_cast<int64_t>(block) * count + place];
    }
  }
  slices[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || place >= count || place % columns >= kept) return;
  for (int slice = 1; slice < kSlicesAdded; ++slice) sum += slices[slice][threadIdx.x];
  result[place / columns * kept + place % columns] = sum;
}

inline cudaError_t run_add_partial(const float* partial, int blocks, int count, int columns, int kept, float* result,
                                   cudaStream_t stream) {
  add_partial<<<(count + 31) / 32, dim3(32, kSlicesAdded), 0, stream>>>(partial, blocks, count, columns, kept, result);
  return cudaGetLastError();
}

inline int multiprocessors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

// Large blocks need more shared memory than a kernel has without being asked.
template <typename Kernel>
cudaError_t allow_shared(Kernel kernel, int64_t bytes) {
  if (bytes <= 48 * 1024) return cudaSuccess;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

}  // namespace sweeper::cuda
