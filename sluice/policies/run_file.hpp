// A run as a document: its plan's (plan/plan_file.hpp), and under a policy what it is, as "policy" beside it.
//
// Errors as of plan_file.hpp. Also refused (kBadInput): a policy or setting that there is not, and a plan that no policy
// decides over.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sluice/policies/run.hpp"

namespace sluice::policies {

nlohmann::json run_to_json(const graph::Graph& graph, const Run& run);
Result<Run> run_from_json(const nlohmann::json& document);

Status write_run(const std::filesystem::path& path, const graph::Graph& graph, const Run& run);
Result<Run> read_run(const std::filesystem::path& path);

}  // namespace sluice::policies
