// The policies of this folder; registry.cpp lists them with their defaults.
#pragma once

#include "sluice/policies/policy.hpp"

namespace sluice {

using MadePolicy = std::unique_ptr<Policy>;

MadePolicy make_first_touch(const PolicyMemory& memory, const PolicyTuning& tuning);  // first_touch.cpp
MadePolicy make_ial(const PolicyMemory& memory, const PolicyTuning& tuning);          // active_lists.cpp
MadePolicy make_oim(const PolicyMemory& memory, const PolicyTuning& tuning);          // active_lists.cpp
MadePolicy make_memory_mode(const PolicyMemory& memory, const PolicyTuning& tuning);  // memory_mode.cpp
MadePolicy make_um(const PolicyMemory& memory, const PolicyTuning& tuning);           // unified_memory.cpp
MadePolicy make_um_prefetch(const PolicyMemory& memory, const PolicyTuning& tuning);  // unified_memory.cpp

}  // namespace sluice
