// What the compute threads do while links are measured: parallel regions as short as the ops of a small network.
//
// Each region reads from memory what no cache holds, computes with it, and ends with a barrier of all threads, as an op
// does: what takes one core for a moment then delays all of them. One thread at a time uses a load; its regions run on
// `threads` threads of OpenMP, the caller among them.
#pragma once

#include <cstddef>
#include <vector>

#include "sluice/base/time_of.hpp"

namespace sluice::probe {

class ComputeLoad {
 public:
  // Finds how many regions a turn has: it takes at least 0.03 s where nothing disturbs it.
  explicit ComputeLoad(int threads);

  // Seconds of one turn. `between`: called behind every region, as behind an op.
  template <typename Between>
  Seconds seconds(const Between& between) {
    return time_of([&] {
      for (int i = 0; i < regions_; ++i) {
        run_region();
        between();
      }
    });
  }
  Seconds seconds() {
    return seconds([] {});
  }

  void run_region();

 private:
  int threads_;
  std::vector<float> data_;
  std::size_t at_ = 0;
  int regions_ = 8;
  volatile float kept_ = 0;  // so that nothing can be left out
};

}  // namespace sluice::probe
