// Where the pixels of an augmented picture come from, the same on every device.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define SWEEPER_ANYWHERE __host__ __device__ __forceinline__
#else
#define SWEEPER_ANYWHERE inline
#endif

namespace sweeper {

struct Augmentations {
  bool flip;
  int64_t shift;
  int64_t cutout;
};

// How one picture is moved: the pixel at (row, column) shows the one at (row + down, column + right), mirrored or not,
// and nothing in the square that begins at (cut_row, cut_column).
struct Movement {
  int64_t down, right, cut_row, cut_column;
  bool mirrored;
};

// SplitMix64's number of index `counter` from the state `start`, 24 bits of it (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, 2014), as a number below `choices`.
SWEEPER_ANYWHERE int64_t draw(uint64_t counter, uint64_t start, int64_t choices) {
  uint64_t mixed = counter * 0x9E3779B97F4A7C15ULL + start;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
  mixed ^= mixed >> 31;
  return static_cast<int64_t>(((mixed >> 40) * static_cast<uint64_t>(choices)) >> 24);
}

SWEEPER_ANYWHERE Movement movement(int64_t position, int64_t start, const Augmentations& what, int64_t height,
                                   int64_t width) {
  const uint64_t first = static_cast<uint64_t>(position) * 8, state = static_cast<uint64_t>(start);
  Movement move{0, 0, 0, 0, false};
  if (what.shift > 0) {
    move.down = draw(first, state, 2 * what.shift + 1) - what.shift;
    move.right = draw(first + 1, state, 2 * what.shift + 1) - what.shift;
  }
  if (what.flip) move.mirrored = draw(first + 2, state, 2) != 0;
  if (what.cutout > 0) {
    move.cut_row = draw(first + 3, state, height) - what.cutout / 2;
    move.cut_column = draw(first + 4, state, width) - what.cutout / 2;
  }
  return move;
}

// The row and column that the pixel at (y, x) shows; false where it shows nothing.
SWEEPER_ANYWHERE bool find_source(const Movement& move, int64_t cutout, int64_t height, int64_t width, int64_t y,
                                  int64_t x, int64_t& row, int64_t& column) {
  row = y + move.down;
  column = x + move.right;
  if (row < 0 || row >= height || column < 0 || column >= width) return false;
  if (move.mirrored) column = width - 1 - column;
  const int64_t below = y - move.cut_row, beside = x - move.cut_column;
  return !(cutout > 0 && below >= 0 && below < cutout && beside >= 0 && beside < cutout);
}

}  // namespace sweeper
