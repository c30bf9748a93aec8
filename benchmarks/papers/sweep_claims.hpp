// What the papers say of performance over fast memory, beside what a sweep shows. Compared, never matched: the papers'
// slow memory was Optane or PMBD, theirs a framework of its own.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/experiment/sweep_result.hpp"

namespace sluice {

struct PublishedClaim {
  std::string_view published;
  std::string_view source;
  std::string here;
};

// Only claims that these points can be held against: Sentinel's at 60 % and from 20 to 40 % (feasible ones), and how
// the budget without loss grows beside everything, for two or more models. Measured where measured, else predicted.
std::vector<PublishedClaim> compare_claims(std::span<const SweptModel> models);

// As items of a list for people; nothing without Sentinel's points.
std::string describe_claims(std::span<const SweptModel> models);

// [{"published", "source", "here"}]
nlohmann::json claims_json(std::span<const SweptModel> models);

}  // namespace sluice
