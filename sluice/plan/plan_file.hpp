// The plan as a versioned JSON document (docs/plan-format.md). Reading checks form only; verify_plan() checks meaning. A
// run under a policy is no plan and is refused.
//
// One line for each op, residency and migration, so that plans can be compared with diff. Errors: kBadInput names the
// place in the document (JSON pointer) or where it was cut short; kIo and kOutOfSpace name the file. Thread-safe.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sluice/base/result.hpp"
#include "sluice/plan/plan.hpp"

namespace sluice::plan {

inline constexpr int kPlanFormatVersion = 8;
inline constexpr int kOldestPlanFormatVersion = 1;  // that is still read

nlohmann::json plan_to_json(const graph::Graph& graph, const Plan& plan);
Result<Plan> plan_from_json(const nlohmann::json& document);

// Written to a temporary file and renamed, so that a full disk never leaves half a plan.
Status write_plan(const std::filesystem::path& path, const graph::Graph& graph, const Plan& plan);
Result<Plan> read_plan(const std::filesystem::path& path);

// The document of a plan with something beside it (policies/run_file.hpp), which is read by those who know that.
Status write_plan_document(const std::filesystem::path& path, const nlohmann::json& document);

}  // namespace sluice::plan
