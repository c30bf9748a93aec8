// Tiles of a walk over operands that broadcast against each other: the unit of work of one call of a vectorised loop.
#pragma once

#include <algorithm>
#include <array>

#include "sluice/kernels/onednn/loops/strided_loop.hpp"
#include "sluice/kernels/onednn/vectors/element_loops.hpp"

namespace sluice::kernels {

// `rows` rows of `count` elements. By operand: strides between rows, and between elements (0 or 1); y is dense.
struct Tile {
  std::int64_t rows, count;
  std::array<std::int64_t, 3> row, step;
};

// Cuts the walk's two innermost levels into tiles of about kLoopBlock elements.
class Tiling {
 public:
  explicit Tiling(std::vector<WalkLevel> levels) : levels_(std::move(levels)) {
    const WalkLevel& rows = levels_[levels_.size() - 2];
    const WalkLevel& columns = levels_.back();
    rows_per_tile_ = std::max<std::int64_t>(1, kLoopBlock / columns.extent);
    columns_per_tile_ = std::min(kLoopBlock, columns.extent);
    row_tiles_ = (rows.extent + rows_per_tile_ - 1) / rows_per_tile_;
    column_tiles_ = (columns.extent + columns_per_tile_ - 1) / columns_per_tile_;
    for (std::size_t i = 0; i + 2 < levels_.size(); ++i) outer_ *= levels_[i].extent;
  }

  std::int64_t count() const { return outer_ * row_tiles_ * column_tiles_; }

  struct Place {
    Tile tile;
    std::array<std::int64_t, 3> from;  // by operand: the offset of the tile's first element
    std::int64_t to;                   // y's
  };
  Place place(std::int64_t index) const {
    const WalkLevel& rows = levels_[levels_.size() - 2];
    const WalkLevel& columns = levels_.back();
    const std::int64_t column = index % column_tiles_ * columns_per_tile_;
    const std::int64_t row = index / column_tiles_ % row_tiles_ * rows_per_tile_;
    std::int64_t outer = index / column_tiles_ / row_tiles_;
    Place place{.tile = {std::min(rows_per_tile_, rows.extent - row),
                         std::min(columns_per_tile_, columns.extent - column), rows.strides, columns.strides},
                .from = {},
                .to = (outer * rows.extent + row) * columns.extent + column};
    for (std::size_t k = 0; k < place.from.size(); ++k) {
      place.from[k] = row * rows.strides[k] + column * columns.strides[k];
    }
    for (std::size_t i = levels_.size() - 2; i-- > 0;) {
      for (std::size_t k = 0; k < place.from.size(); ++k) {
        place.from[k] += outer % levels_[i].extent * levels_[i].strides[k];
      }
      outer /= levels_[i].extent;
    }
    return place;
  }

 private:
  std::vector<WalkLevel> levels_;
  std::int64_t rows_per_tile_ = 1, columns_per_tile_ = 1;
  std::int64_t row_tiles_ = 1, column_tiles_ = 1, outer_ = 1;
};

}  // namespace sluice::kernels
