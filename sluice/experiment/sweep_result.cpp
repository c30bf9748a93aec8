#include "sluice/experiment/sweep_result.hpp"

#include <algorithm>

namespace sluice::experiment {

const SweepPoint* knee_of(const SweptModel& swept, std::string_view planner) {
  constexpr double kLeastBend = 0.1;  // of the height of the curve
  std::vector<const SweepPoint*> curve;
  for (const SweepPoint& point : swept.points) {
    if (point.planner == planner && point.feasible()) curve.push_back(&point);
  }
  if (curve.size() < 3) return nullptr;
  std::ranges::sort(curve, {}, &SweepPoint::budget);
  const SweepPoint& first = *curve.front();
  const SweepPoint& last = *curve.back();
  const double height = first.slowdown - last.slowdown;
  const double width = swept.share(last) - swept.share(first);
  if (height <= 0 || width <= 0) return nullptr;
  const auto below_the_line = [&](const SweepPoint* point) {
    const double gone = (swept.share(*point) - swept.share(first)) / width;
    return (first.slowdown - point->slowdown) / height - gone;
  };
  const SweepPoint* const knee = *std::ranges::max_element(curve, {}, below_the_line);
  return below_the_line(knee) >= kLeastBend ? knee : nullptr;
}

}  // namespace sluice::experiment
