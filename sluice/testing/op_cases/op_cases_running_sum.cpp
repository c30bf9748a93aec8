#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

OpCase running_sum_case(const graph::Shape& shape, std::int64_t axis, bool causal) {
  CaseBuilder builder("running sum " + std::string(causal ? "" : "from behind ") + "along " + std::to_string(axis) +
                      " of " + graph::to_string(shape));
  const graph::RunningSumAttributes forwards{.axis = axis, .forwards = causal},
      backwards{.axis = axis, .forwards = !causal};
  builder.op(graph::OpKind::kRunningSum, forwards, {builder.tensor("x", shape)}, {builder.tensor("y", shape)});
  builder.op(graph::OpKind::kRunningSum, backwards, {builder.gradient("dy", shape)}, {builder.gradient("dx", shape)});
  builder.claim({"y", "dy", "x", "dx"});
  return builder.finish();
}

}  // namespace

void add_running_sum_cases(std::vector<OpCase>& cases) {
  for (const bool causal : {true, false}) {
    cases.push_back(running_sum_case({3, 40}, 1, causal));
    cases.push_back(running_sum_case({5, 7, 3}, 0, causal));
  }
  cases.push_back(running_sum_case({2, 6, 150}, 1, true));
  cases.push_back(running_sum_case({4, 3, 5, 6}, 2, true));  // images, whose samples may be cut
}

}  // namespace sluice::testing
