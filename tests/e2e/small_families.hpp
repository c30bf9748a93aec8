// One model of every family, scaled down so that a step takes a moment.
#pragma once

#include <string>
#include <vector>

#include "sluice/train/workload/workload.hpp"

namespace sluice::tests {

struct Family {
  std::string name;
  train::WorkloadOptions options;
};

std::vector<Family> small_families();

}  // namespace sluice::tests
