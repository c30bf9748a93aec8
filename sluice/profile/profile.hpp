// What was measured of a step: the time of every op with its operands in the fast tier. (Link figures live in Machine;
// tensor sizes and live ranges follow from the graph.)
#pragma once

#include <string>
#include <vector>

#include "sluice/base/units.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice {

struct Profile {
  std::string graph_fingerprint;
  std::string compute_fingerprint;  // of the Machine it was measured on
  std::vector<Seconds> op_seconds;  // by OpIndex
  Provenance provenance = Provenance::kMeasured;
};

}  // namespace sluice
