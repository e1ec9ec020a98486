// Realignment on the CPU, in place, parallel over rows.
//
// Two rows can go at the same time only if neither writes where the other still has to read. Wide matrices are cut into
// a chunk of rows for each thread; what a chunk's writes would destroy of its neighbour's source, at most `rows`
// elements, is put aside first. In narrow ones that would be much of the matrix; there, rows whose targets lie beyond
// all sources left to read go together, in phases.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <vector>

#include "shift.h"

namespace sweeper {
namespace {

constexpr int64_t kParallelBytes = 256 * 1024;   // less than this goes to one thread
constexpr int64_t kKeptShare = 8;                // columns for each chunk but the first, so that 1/16 is put aside at most
constexpr int64_t kGroupBytes = 32 * 1024;
constexpr size_t kShortRow = 64;                 // bytes; a call of memmove would cost more than the row

template <typename T>
void move_up(T* to, const T* from, int64_t count) {
  if (count * sizeof(T) >= kShortRow) {
    std::memmove(to, from, count * sizeof(T));
  } else {
    for (int64_t i = count - 1; i >= 0; --i) to[i] = from[i];
  }
}

template <typename T>
void move_down(T* to, const T* from, int64_t count) {
  if (count * sizeof(T) >= kShortRow) {
    std::memmove(to, from, count * sizeof(T));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

template <typename T>
void right_row(T* data, int64_t row, int64_t cols, T fill) {
  move_up(data + row * (cols + 1) + 1, data + row * cols, cols);
  data[row * (cols + 1)] = fill;
}

template <typename T>
void left_row(T* data, int64_t row, int64_t cols) {
  move_down(data + row * cols, data + row * (cols + 1) + 1, cols);
}

// Threads that a shift of this shape is worth, and that chunks of it allow.
int64_t chunks_of(int64_t rows, int64_t cols, size_t element_bytes) {
  if (rows * cols * static_cast<int64_t>(element_bytes) < kParallelBytes) return 1;
  return std::min({static_cast<int64_t>(at::get_num_threads()), 1 + cols / kKeptShare, rows});
}

// The first row of chunk `chunk` of `chunks`.
int64_t begin_of(int64_t chunk, int64_t chunks, int64_t rows) {
  return rows / chunks * chunk + std::min(chunk, rows % chunks);
}

// How many rows before `end` have their targets beyond all their sources: these may go first row first, as memory likes it.
int64_t free_rows(int64_t end, int64_t cols, size_t element_bytes) {
  const int64_t most = std::max<int64_t>(1, kGroupBytes / (cols * static_cast<int64_t>(element_bytes) + 1));
  return std::min(end / (cols + 1), most);
}

// One chunk of rows [begin, end), last row first, or last group of rows. The first `begin` elements of its source are in
// `kept`.
template <typename T>
void right_chunk(T* data, const T* kept, int64_t begin, int64_t end, int64_t cols, T fill) {
  const int64_t kept_until = begin * cols + begin;
  for (int64_t group = free_rows(end, cols, sizeof(T));
       group > 1 && end - group >= begin && (end - group) * cols >= kept_until;
       group = free_rows(end, cols, sizeof(T))) {
    for (int64_t row = end - group; row < end; ++row) {
      std::memcpy(data + row * (cols + 1) + 1, data + row * cols, cols * sizeof(T));
      data[row * (cols + 1)] = fill;
    }
    end -= group;
  }
  for (int64_t row = end - 1; row >= begin; --row) {
    const int64_t source = row * cols, target = row * (cols + 1) + 1;
    const int64_t aside = std::clamp<int64_t>(kept_until - source, 0, cols);
    move_up(data + target + aside, data + source + aside, cols - aside);
    if (aside > 0) std::memcpy(data + target, kept + source - begin * cols, aside * sizeof(T));
    data[target - 1] = fill;
  }
}

// One chunk of rows [begin, end), first row first. The last `end` elements of its source are in `kept`, if any are.
template <typename T>
void left_chunk(T* data, const T* kept, int64_t begin, int64_t end, int64_t cols, bool last) {
  const int64_t kept_from = last ? end * (cols + 1) : end * cols;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t source = row * (cols + 1) + 1, target = row * cols;
    const int64_t direct = std::clamp<int64_t>(kept_from - source, 0, cols);
    move_down(data + target, data + source, direct);
    if (direct < cols)
      std::memcpy(data + target + direct, kept + source + direct - kept_from, (cols - direct) * sizeof(T));
  }
}

template <typename T, bool Right>
void shift_in_chunks(T* data, int64_t rows, int64_t cols, T fill, int64_t chunks) {
  std::vector<std::vector<T>> kept(chunks);
  at::parallel_for(0, chunks, 1, [&](int64_t from, int64_t to) {
    for (int64_t chunk = from; chunk < to; ++chunk) {
      const int64_t edge = begin_of(Right ? chunk : chunk + 1, chunks, rows);
      if (Right ? chunk > 0 : chunk + 1 < chunks) kept[chunk].assign(data + edge * cols, data + edge * (cols + 1));
    }
  });
  at::parallel_for(0, chunks, 1, [&](int64_t from, int64_t to) {
    for (int64_t chunk = from; chunk < to; ++chunk) {
      const int64_t begin = begin_of(chunk, chunks, rows), end = begin_of(chunk + 1, chunks, rows);
      if (Right) right_chunk(data, kept[chunk].data(), begin, end, cols, fill);
      else left_chunk(data, kept[chunk].data(), begin, end, cols, chunk + 1 == chunks);
    }
  });
}

template <typename T>
void right_in_phases(T* data, int64_t rows, int64_t cols, T fill) {
  const int64_t grain = std::max<int64_t>(1, kParallelBytes / static_cast<int64_t>(sizeof(T)) / (cols + 1) / 4);
  int64_t end = rows;
  while (end > 0) {
    const int64_t begin = std::min(end - 1, end - end / (cols + 1));   // targets from here on lie past all sources
    at::parallel_for(begin, end, grain, [&](int64_t from, int64_t to) {
      for (int64_t row = to - 1; row >= from; --row) right_row(data, row, cols, fill);
    });
    end = begin;
  }
}

template <typename T>
void left_in_phases(T* data, int64_t rows, int64_t cols) {
  const int64_t grain = std::max<int64_t>(1, kParallelBytes / static_cast<int64_t>(sizeof(T)) / (cols + 1) / 4);
  int64_t begin = 0;
  while (begin < rows) {
    const int64_t end = std::min(rows, std::max(begin + 1, begin + (begin + 1) / cols));
    at::parallel_for(begin, end, grain, [&](int64_t from, int64_t to) {
      for (int64_t row = from; row < to; ++row) left_row(data, row, cols);
    });
    begin = end;
  }
}

// The paper's algorithm (section 4): put aside rows (rows - 1) / 2 elements, then move every row by itself.
template <typename T, bool Right>
void shift_as_in_paper(T* data, int64_t rows, int64_t cols, T fill) {
  std::vector<T> helper(rows * (rows - 1) / 2);
  for (int64_t row = 1; row < rows; ++row) {
    const T* from = Right ? data + row * cols : data + row * (cols + 1) - row;
    std::copy(from, from + row, helper.data() + row * (row - 1) / 2);
  }
  at::parallel_for(0, rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (Right) {
        const int64_t target = row * (cols + 1) + 1, aside = std::min(row, cols);
        move_up(data + target + aside, data + row * cols + aside, cols - aside);
        std::copy_n(helper.data() + row * (row - 1) / 2, aside, data + target);
        data[target - 1] = fill;
      } else {
        const int64_t aside = row + 1 < rows ? row + 1 : 0;
        move_down(data + row * cols, data + row * (cols + 1) + 1, cols - aside);
        std::copy_n(helper.data() + (row + 1) * row / 2, aside, data + (row + 1) * cols - aside);
      }
    }
  });
}

template <typename T, bool Right>
void shift(void* storage, int64_t rows, int64_t cols, uint64_t fill_bits, bool paper) {
  T* data = static_cast<T*>(storage);
  T fill;
  std::memcpy(&fill, &fill_bits, sizeof(T));
  if (paper) return shift_as_in_paper<T, Right>(data, rows, cols, fill);
  const bool parallel = rows * (cols + 1) * static_cast<int64_t>(sizeof(T)) >= kParallelBytes;
  if (cols >= kKeptShare || !parallel)
    return shift_in_chunks<T, Right>(data, rows, cols, fill, chunks_of(rows, cols, sizeof(T)));
  if (Right) right_in_phases(data, rows, cols, fill);
  else left_in_phases(data, rows, cols);
}

template <bool Right>
void shift_any(at::Tensor& storage, int64_t rows, int64_t cols, uint64_t fill, bool paper) {
  if (rows == 0 || (cols == 0 && !Right)) return;
  switch (storage.element_size()) {
    case 2: return shift<uint16_t, Right>(storage.mutable_data_ptr(), rows, cols, fill, paper);
    case 4: return shift<uint32_t, Right>(storage.mutable_data_ptr(), rows, cols, fill, paper);
    default: return shift<uint64_t, Right>(storage.mutable_data_ptr(), rows, cols, fill, paper);
  }
}

void shift_right_(at::Tensor storage, int64_t rows, int64_t cols, double fill, c10::string_view algorithm) {
  check_storage("shift_right_", storage, rows, cols);
  const bool paper = is_paper("shift_right_", {algorithm.data(), algorithm.size()}, rows, cols);
  shift_any<true>(storage, rows, cols, bits_of(storage, fill), paper);
}

void shift_left_(at::Tensor storage, int64_t rows, int64_t cols, c10::string_view algorithm) {
  check_storage("shift_left_", storage, rows, cols);
  const bool paper = is_paper("shift_left_", {algorithm.data(), algorithm.size()}, rows, cols);
  shift_any<false>(storage, rows, cols, 0, paper);
}

}  // namespace

// The functional twins are copies into a new matrix, for any strides and device.
at::Tensor shift_right(const at::Tensor& x, double fill) {
  check_element_type("shift_right", x);
  TORCH_CHECK(x.dim() == 2, "shift_right: expected a matrix [rows, cols], got sizes ", x.sizes());
  at::Tensor out = at::empty({x.size(0), x.size(1) + 1}, x.options());
  out.select(1, 0).fill_(fill);
  out.narrow(1, 1, x.size(1)).copy_(x);
  return out;
}

at::Tensor shift_left(const at::Tensor& x) {
  check_element_type("shift_left", x);
  TORCH_CHECK(x.dim() == 2 && x.size(1) >= 1, "shift_left: expected a matrix [rows, 1 + cols], got sizes ", x.sizes());
  at::Tensor out = at::empty({x.size(0), x.size(1) - 1}, x.options());
  out.copy_(x.narrow(1, 1, x.size(1) - 1));
  return out;
}

TORCH_LIBRARY_IMPL(sweeper, CPU, m) {
  m.impl("shift_right_", &shift_right_);
  m.impl("shift_left_", &shift_left_);
  m.impl("shift_right", &shift_right);
  m.impl("shift_left", &shift_left);
}

TORCH_LIBRARY_IMPL(sweeper, CUDA, m) {
  m.impl("shift_right", &shift_right);
  m.impl("shift_left", &shift_left);
}

}  // namespace sweeper
