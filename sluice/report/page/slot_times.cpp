#include "sluice/report/page/slot_times.hpp"

#include <algorithm>

namespace sluice::report {

std::vector<double> slot_times_ms(const program::StepTimes& times) {
  std::vector<double> slots(times.ops.size() + 1, 0.0);
  for (std::size_t slot = 1; slot < times.ops.size(); ++slot) {
    slots[slot] = std::max(slots[slot - 1], times.ops[slot - 1].end * 1e3);
  }
  slots.back() = times.step_seconds * 1e3;
  return slots;
}

}  // namespace sluice::report
