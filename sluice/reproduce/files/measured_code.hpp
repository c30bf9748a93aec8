// Which code a kept result measures: benchmarks/measured_code.json names sets of paths, one for what executes, one for
// what simulates, one for each planner and policy, so that no entry has to list them. By default a result measures the
// sets `executed` or `simulated` (or both), the sets of the planners that its command names, and the program that it
// runs, where that is of this repository.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/reproduce/files/kept_result.hpp"

namespace sluice {

struct MeasuredCode {
  std::map<std::string, std::vector<std::string>> sets;  // a set's name (without /) -> paths from the root
};

Result<MeasuredCode> read_measured_code(const std::filesystem::path& file);

// Paths from the root. kBadInput where `measures` names a set that there is not.
Result<std::set<std::string>> measured_paths(const KeptResult& result, const MeasuredCode& code);

}  // namespace sluice
