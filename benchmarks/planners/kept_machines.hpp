// Machines that are made of given figures alone, the same wherever plans are made for them: simulated, never run on.
#pragma once

#include <string>
#include <vector>

#include "sluice/memory/machine.hpp"

namespace sluice::benchmarks {

struct KeptMachine {
  std::string name;  // "disk of 2 GB/s"
  memory::Machine machine;
  double compute_speed = 1;  // how many times as fast as the kept op times say
};

// `whole`: what the step takes in fast memory; one machine has a tier that holds a part of it.
std::vector<KeptMachine> kept_machines(Bytes whole);

}  // namespace sluice::benchmarks
