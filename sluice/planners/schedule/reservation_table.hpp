// How many bytes of the fast tier are reserved at each op. Each decision is a reservation over a range of ops, which
// must fit.
#pragma once

#include "sluice/base/id_vector.hpp"
#include "sluice/base/interval.hpp"
#include "sluice/base/units.hpp"
#include "sluice/graph/ops/op.hpp"

namespace sluice::planners {

class ReservationTable {
 public:
  ReservationTable(graph::OpIndex op_count, Bytes capacity) : used_(op_count, 0), capacity_(capacity) {}

  void reserve(Interval<graph::OpIndex> ops, Bytes bytes) {
    for (graph::OpIndex op = ops.begin; op < ops.end; ++op) used_[op] += bytes;
  }

  // Does `bytes` fit at every op of the range while `headroom` bytes stay free?
  bool fits(Interval<graph::OpIndex> ops, Bytes bytes, Bytes headroom = 0) const {
    for (graph::OpIndex op = ops.begin; op < ops.end; ++op) {
      if (used_[op] + bytes + headroom > capacity_) return false;
    }
    return true;
  }

  // The longest [begin, end), end <= limit, over which `bytes` fits.
  graph::OpIndex fits_forward(graph::OpIndex begin, graph::OpIndex limit, Bytes bytes) const {
    graph::OpIndex end = begin;
    while (end < limit && used_[end] + bytes <= capacity_) ++end;
    return end;
  }

  // The longest [begin, end), begin >= limit, over which `bytes` fits.
  graph::OpIndex fits_backward(graph::OpIndex end, graph::OpIndex limit, Bytes bytes) const {
    graph::OpIndex begin = end;
    while (begin > limit && used_[begin - 1] + bytes <= capacity_) --begin;
    return begin;
  }

  Bytes used(graph::OpIndex op) const { return used_[op]; }
  Bytes capacity() const { return capacity_; }

 private:
  IdVector<graph::OpIndex, Bytes> used_;
  Bytes capacity_;
};

}  // namespace sluice::planners
