// What a user may set of a planner: a number, or one of a few words: `autotm-sync:gap=0.001:seconds=300`,
// `sentinel:migration=direct`.
#pragma once

#include <string_view>
#include <vector>

namespace sluice {

struct PlannerSetting {
  std::string_view name;     // as the user writes it
  std::string_view summary;  // one line for --help
  double value = 0;          // where the user names none
  double least = 0;
  double most = 0;
  bool whole = false;  // only whole numbers
  // What the user writes instead of numbers, if there are any: `value` is then the index of a word.
  std::vector<std::string_view> words = {};
};

}  // namespace sluice
