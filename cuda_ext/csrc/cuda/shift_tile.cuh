// A tile of the output: where its source lies, how it is loaded, how it is written.
//
// All global accesses are 16 bytes wide and aligned; the misalignment between source and destination is taken up in
// shared memory. Positions are counted from the 16-byte boundary at or before the first element (`head` elements
// earlier), so that a buffer at any offset is treated alike.
#pragma once

#include <cuda_pipeline.h>

#include <cstdint>

#include "shift_kernels.h"

namespace sweeper::cuda {

constexpr int kVectorBytes = 16;

template <typename T>
constexpr int kVector = kVectorBytes / static_cast<int>(sizeof(T));

// Division by a constant that is known at launch, for any 63-bit dividend: a product and one correction.
struct Divisor {
  int64_t value;
  uint64_t reciprocal;  // floor((2^64 - 1) / value)

  __device__ int64_t quotient(int64_t dividend) const {
    int64_t q = static_cast<int64_t>(__umul64hi(static_cast<uint64_t>(dividend), reciprocal));
    return dividend - q * value >= value ? q + 1 : q;
  }
};

inline Divisor divisor(int64_t value) {
  return value > 0 ? Divisor{value, ~uint64_t(0) / static_cast<uint64_t>(value)} : Divisor{1, ~uint64_t(0)};
}

template <typename T>
struct Matrix {
  T* base;             // on a 16-byte boundary, `head` elements before the first
  int64_t head;
  int64_t count;       // elements of the output
  int64_t capacity;    // elements of the larger of input and output
  int64_t sources;     // elements of the input
  Divisor width_in;
  Divisor width_out;
  T fill;
  int tile;            // elements of a tile
  uint64_t magic;      // ceil(2^40 / width_out), where a tile holds several rows
};

// How many row boundaries a tile and a vector can hold; decides how elements find their row.
enum class Rows { kLong, kShort, kTiny };  // one a tile; one a vector; several a vector

// What a block needs to know of a tile. Offsets and places count elements, from the tile's first position and from the
// start of its source in shared memory; 32 bits hold them, whatever the size of the matrix.
struct Extent {
  int64_t first;           // the tile's first position, counted from the matrix's first element; may be negative
  int64_t source;          // first position loaded, counted from base; a multiple of a vector
  int64_t readers_first;   // the tiles whose source lies where this tile writes; none where first > last
  int64_t readers_last;
  int vectors;             // vectors loaded
  int place;               // of the source of offset 0, as if it were no filled column
  int column;              // of offset 0, for short rows
  int counted;             // 1 where `place` leaves out the filled column of the row that begins at offset 0
  int boundary;            // for long rows: the offset at which a row begins, at most INT32_MAX
  bool cut;                // the tile or its source reaches over an end of the matrix
};

template <typename T, bool Right>
__device__ void set_readers(const Matrix<T>& m, int64_t begin, int64_t last, Extent& extent) {
  extent.readers_first = 1;
  extent.readers_last = 0;
  if (m.sources == 0) return;
  int64_t low, high;
  if (Right) {
    low = begin + m.width_in.quotient(begin) + 1;
    high = last + m.width_in.quotient(last) + 1;
    high = high < m.count ? high : m.count - 1;
  } else {
    low = begin - m.width_in.quotient(begin) - 1;
    low = low > 0 ? low : 0;
    high = last - m.width_in.quotient(last);
  }
  extent.readers_first = (low + m.head) / m.tile;
  extent.readers_last = (high + m.head) / m.tile;
}

template <typename T, bool Right>
__device__ Extent extent_of(const Matrix<T>& m, int64_t tile) {
  Extent extent;
  const int64_t first = tile * m.tile - m.head;
  const int64_t begin = first > 0 ? first : 0;
  const int64_t end = first + m.tile < m.count ? first + m.tile : m.count;
  const int64_t row = m.width_out.quotient(begin);
  const int64_t column = begin - row * m.width_out.value;
  const int64_t last_row = m.width_out.quotient(end - 1);
  int64_t from, to;
  if (Right) {
    from = begin - row - (column ? 1 : 0);
    to = end - 1 - last_row;
  } else {
    from = begin + row + 1;
    to = end + last_row + 1;
  }
  extent.first = first;
  extent.source = (from + m.head) / kVector<T> * kVector<T>;
  extent.vectors = to > from ? static_cast<int>((to + m.head - extent.source + kVector<T> - 1) / kVector<T>) : 0;
  extent.place = static_cast<int>(first + (Right ? -row - 1 : row + 1) + m.head - extent.source);
  extent.column = static_cast<int>(column + first - begin);
  int64_t boundary = m.width_out.value - column + begin - first;
  extent.counted = 0;
  if (Right && column == 0) {
    boundary = begin - first;
    extent.counted = 1;
    ++extent.place;  // the row that begins here is counted at the boundary
  }
  extent.boundary = boundary < INT32_MAX ? static_cast<int>(boundary) : INT32_MAX;
  extent.cut = first < 0 || first + m.tile > m.count || extent.source < m.head ||
               extent.source + int64_t(extent.vectors) * kVector<T> > m.head + m.capacity;
  set_readers<T, Right>(m, begin, end - 1, extent);
  return extent;
}

// Begins to copy a tile's source into shared memory; __pipeline_wait_prior and a barrier end it.
template <typename T>
__device__ void load_tile(const Matrix<T>& m, const Extent& extent, T* shared) {
  const T* source = m.base + extent.source;
  const int64_t before = m.head - extent.source, after = before + m.capacity;
  for (int i = threadIdx.x * kVector<T>; i < extent.vectors * kVector<T>; i += blockDim.x * kVector<T>) {
    if (!extent.cut || (i >= before && i + kVector<T> <= after)) {
      __pipeline_memcpy_async(shared + i, source + i, kVectorBytes);
    } else {
      for (int e = 0; e < kVector<T>; ++e)
        if (i + e >= before && i + e < after) shared[i + e] = source[i + e];
    }
  }
}

template <typename T>
union Vector {
  uint4 whole;
  uint32_t word[4];
  T element[kVector<T>];
};

// A vector of consecutive elements at any place in shared memory.
template <typename T>
__device__ Vector<T> read_unaligned(const T* shared, int from) {
  Vector<T> out;
  if constexpr (sizeof(T) == 2) {
    const auto* words = reinterpret_cast<const uint32_t*>(shared) + (from >> 1);
    if (from & 1) {
      uint32_t low = words[0];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const uint32_t high = words[w + 1];
        out.word[w] = __byte_perm(low, high, 0x5432);
        low = high;
      }
    } else {
#pragma unroll
      for (int w = 0; w < 4; ++w) out.word[w] = words[w];
    }
  } else {
#pragma unroll
    for (int e = 0; e < kVector<T>; ++e) out.element[e] = shared[from + e];
  }
  return out;
}

// The same across at most one row boundary, before element `boundary`.
template <typename T, bool Right>
__device__ Vector<T> read_across(const T* shared, int from, int boundary, T fill) {
  Vector<T> out;
#pragma unroll
  for (int e = 0; e < kVector<T>; ++e) {
    if (Right) {
      const T value = shared[from + e - (e > boundary ? 1 : 0)];
      out.element[e] = e == boundary ? fill : value;
    } else {
      out.element[e] = shared[from + e + (e >= boundary ? 1 : 0)];
    }
  }
  return out;
}

// Vectors at the ends of the matrix, and rows shorter than a vector: an element at a time.
template <typename T, bool Right>
__device__ void write_elements(const Matrix<T>& m, const Extent& extent, int offset, const T* shared) {
  for (int e = 0; e < kVector<T>; ++e) {
    const int64_t at = extent.first + offset + e;
    if (at < 0 || at >= m.count) continue;
    const int64_t row = m.width_out.quotient(at);
    const int64_t source = Right ? at - row - 1 : at + row + 1;
    const bool filled = Right && at == row * m.width_out.value;
    m.base[m.head + at] = filled ? m.fill : shared[source + m.head - extent.source];
  }
}

template <typename T, bool Right, Rows Kind>
__device__ Vector<T> read_vector(const Matrix<T>& m, const Extent& extent, int offset, const T* shared) {
  constexpr int V = kVector<T>;
  if (Kind == Rows::kLong) {
    const int left = extent.boundary - offset;
    const int from = extent.place + offset;
    if (left >= V) return read_unaligned<T>(shared, from);
    if (left >= 0) return read_across<T, Right>(shared, from, left, m.fill);
    return read_unaligned<T>(shared, Right ? from - 1 : from + 1);
  }
  const uint32_t width = static_cast<uint32_t>(m.width_out.value);
  const uint32_t sum = static_cast<uint32_t>(extent.column + offset);
  const uint32_t rows = static_cast<uint32_t>((sum * m.magic) >> 40);
  const int column = static_cast<int>(sum - rows * width);
  const int begun = static_cast<int>(rows) + extent.counted;
  const int from = extent.place + offset + (Right ? -begun : begun);
  const int boundary = Right && column == 0 ? 0 : static_cast<int>(width) - column;
  return read_across<T, Right>(shared, Right && column == 0 ? from + 1 : from, boundary, m.fill);
}

template <typename T, bool Right, Rows Kind>
__device__ void write_tile(const Matrix<T>& m, const Extent& extent, const T* shared) {
  constexpr int V = kVector<T>;
  T* to = m.base + (m.head + extent.first);
  const int64_t before = -extent.first, after = m.count - extent.first;
#pragma unroll 4
  for (int offset = threadIdx.x * V; offset < m.tile; offset += blockDim.x * V) {
    if (Kind == Rows::kTiny || (extent.cut && (offset < before || offset + V > after))) {
      write_elements<T, Right>(m, extent, offset, shared);
    } else {
      *reinterpret_cast<uint4*>(to + offset) = read_vector<T, Right, Kind>(m, extent, offset, shared).whole;
    }
  }
}

}  // namespace sweeper::cuda
