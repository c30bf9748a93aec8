#include "sluice/graph/shapes/shape_rule.hpp"

namespace sluice::graph {

Result<Shapes> running_sum_shapes(const ShapeRule& rule) {
  SLUICE_RETURN_IF_ERROR(rule.expect_inputs(1, 1));
  SLUICE_RETURN_IF_ERROR(rule.expect_axis(rule.as<RunningSumAttributes>().axis));
  return Shapes{rule.inputs[0]};
}

}  // namespace sluice::graph
