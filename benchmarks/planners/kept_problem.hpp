// Planning problems that are kept: a model's step as planners see it, with op times measured once. Plans for them, and
// what the simulator makes of these, are the same on every machine.
//
// An executable graph depends on the processor that it was lowered for: kernels, their workspaces, layouts. So the graph
// is kept with its times, without what planners do not look at: what an op does is a number, equal for ops that do the
// same (value_numbers.hpp), and so are layouts. The graph can be planned for, not run.
//
// The file is JSON in columns, an entry a tensor or op: {"format": "sluice-problem", "version", "model", "batch",
// "measured_on", "layers", "tensors": {"bytes", "dtype", "role", "layout", "shape"}, "ops": {"name", "kind", "phase",
// "layer", "does", "accumulates", "inputs", "outputs", "microseconds"}}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "sluice/base/result.hpp"
#include "sluice/graph/graph.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice::benchmarks {

struct KeptProblem {
  std::string model;
  std::int64_t batch = 0;
  std::string measured_on;  // CPU and threads
  graph::Graph graph;
  profile::Profile profile;  // op times alone
};

nlohmann::json problem_json(const KeptProblem& problem);

// kBadInput for what is no such file, names what there is not, or has columns of different lengths.
Result<KeptProblem> problem_from_json(const nlohmann::json& document);
Result<KeptProblem> read_problem(const std::filesystem::path& path);  // errors name the file

}  // namespace sluice::benchmarks
