// Which windows of a pooling hold a pixel. No torch here: kernels include it, too.
#pragma once

#ifdef __CUDACC__
#define SWEEPER_EVERYWHERE __host__ __device__
#else
#define SWEEPER_EVERYWHERE
#endif

namespace sweeper {

struct Windows {
  int first;
  int last;
};

// The windows [first, last] over pixel `at` of a side, of `count` windows of `size` pixels, `stride` apart.
SWEEPER_EVERYWHERE inline Windows windows_over(int at, int size, int stride, int count) {
  const int first = at < size ? 0 : (at - size) / stride + 1, last = at / stride;
  return {first, last < count ? last : count - 1};
}

}  // namespace sweeper
