#include "sluice/report/describe_graph.hpp"

#include <fmt/format.h>

#include "sluice/data/input_tensors.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice::report {

std::string describe_graph(const graph::Graph& graph) {
  return fmt::format("{}, {}: {} ops, {} tensors, {} in all", graph.name,
                     data::describe_inputs(data::input_tensors(graph)), graph.op_count(), graph.tensor_count(),
                     format_bytes(planners::fast_only_bytes(graph)));
}

}  // namespace sluice::report
