// A number of a planner that its user may set: `autotm-sync:gap=0.001:seconds=300`.
#pragma once

#include <string_view>

namespace sluice {

struct PlannerSetting {
  std::string_view name;     // as the user writes it
  std::string_view summary;  // one line for --help
  double value = 0;          // where the user names none
  double least = 0;
  double most = 0;
  bool whole = false;  // only whole numbers
};

}  // namespace sluice
