// How much a run of the tests is asked for, by the environment variable SLUICE_TEST_SET: `quick`, the set that
// scripts/test.sh runs; `all`; or `soak`, which takes hours. A suite that has more cases than minutes asks here how many to
// take. Without the variable it is the quick set.
#pragma once

#include <cstdlib>
#include <string_view>

namespace sluice::testing {

template <typename Count>
Count pick_for_set(Count quick, Count all, Count soak) {
  const char* const set = std::getenv("SLUICE_TEST_SET");
  const std::string_view name = set == nullptr ? "quick" : set;
  return name == "soak" ? soak : name == "all" ? all : quick;
}

}  // namespace sluice::testing
