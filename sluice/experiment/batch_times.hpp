// Op times of a model at any batch size, from profiles measured at a few.
//
// Ops of several batch sizes are matched by name. What is cut into slices of a batch is one op here, and its slices get
// equal parts. Of each op the time is a straight line over the batch, fitted to the measured sizes: what starting it
// takes, and what a sample takes; neither is negative. An op that no measured size has (it appears where a larger batch
// is cut) takes the time of its bytes at the rate of all ops. So times beyond the measured sizes are extrapolated:
// error() says how far the largest measured size is from what the others would have promised for it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice::experiment {

struct MeasuredBatch {
  std::int64_t batch = 0;
  const graph::Graph& graph;
  const profile::Profile& profile;
};

class BatchTimes {
 public:
  // Two sizes or more, ascending.
  explicit BatchTimes(const std::vector<MeasuredBatch>& measured);

  profile::Profile at(const graph::Graph& graph, std::int64_t batch, const memory::Machine& machine) const;

  // The step's compute time at the largest measured size, as the others predict it, by the measured one; minus 1. With
  // two sizes the smaller one alone predicts, in proportion to the batch.
  double error() const { return error_; }

 private:
  struct Line {  // seconds of all ops of one name: start + batch * sample
    Seconds start = 0, sample = 0;
    Seconds at(std::int64_t batch) const { return start + static_cast<double>(batch) * sample; }
  };
  struct Point {
    double batch = 0;
    Seconds seconds = 0;
  };
  static Line fit(const std::vector<Point>& points);

  std::map<std::string, Line> lines_;
  double bytes_per_second_ = 1;
  double error_ = 0;
};

}  // namespace sluice::experiment
