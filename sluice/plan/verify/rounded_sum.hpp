// A sum of doubles that a proof rests on, and the least that it can be without their rounding.
#pragma once

#include <cmath>
#include <limits>

namespace sluice::plan {

// Knows how far rounding may have carried it: every term was worked out in at most `steps` roundings.
class RoundedSum {
 public:
  explicit RoundedSum(double steps) : steps_(steps) {}

  void add(double term) {
    sum_ += term;
    magnitude_ += std::abs(term);
  }

  // Also of what a term is the difference of.
  void add_magnitude(double magnitude) { magnitude_ += magnitude; }

  double at_least() const { return sum_ - steps_ * std::numeric_limits<double>::epsilon() * magnitude_; }

 private:
  double steps_;
  double sum_ = 0;
  double magnitude_ = 0;
};

}  // namespace sluice::plan
