#include "sluice/report/describe_graph.hpp"

#include <fmt/format.h>

#include "sluice/data/input_tensors.hpp"
#include "sluice/planners/planner.hpp"
#include "sluice/planners/schedule/everything_fast.hpp"

namespace sluice {

std::string describe_graph(const Graph& graph) {
  return fmt::format("{}, {}: {} ops, {} tensors, {} in all", graph.name, describe_inputs(input_tensors(graph)),
                     graph.op_count(), graph.tensor_count(), format_bytes(fast_only_bytes(graph)));
}

}  // namespace sluice
