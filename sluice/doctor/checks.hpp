// What a host's facts mean for training here, one check each: fine, worth knowing, or in the way; and what to do.
// Pure functions of the facts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sluice/doctor/host_facts.hpp"

namespace sluice::doctor {

enum class Severity { kOk, kNote, kProblem };
std::string_view to_string(Severity verdict);

struct Check {
  std::string name;  // "spill folder"
  Severity verdict = Severity::kOk;
  std::string found;
  std::string advice;  // what to do; empty where nothing is to be done
};

std::vector<Check> check_host(const HostFacts& facts);

// Of one subject each.
std::vector<Check> check_kernel(const KernelFacts& kernel);
std::vector<Check> check_memory(const MemoryFacts& memory, const LimitFacts& limits);
std::vector<Check> check_processors(const ProcessorFacts& processors, const LimitFacts& limits);
std::vector<Check> check_storage(const StorageFacts& storage, const LimitFacts& limits);
std::vector<Check> check_software(const HostFacts& facts);

// Whether nothing found prevents training.
bool can_train(const std::vector<Check>& checks);

}  // namespace sluice::doctor
