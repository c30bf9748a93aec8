#include "sluice/plan/op_choices.hpp"

#include <fmt/format.h>

#include <optional>

#include "sluice/base/as_index.hpp"

namespace sluice {

Result<std::vector<OpChoice>> choices_by_op(const Plan& plan, OpIndex op_count) {
  std::vector<std::optional<OpChoice>> found(as_index(op_count));
  for (std::size_t slot = 0; slot < plan.ops.size(); ++slot) {
    const OpIndex op = plan.schedule.empty() ? static_cast<OpIndex>(slot) : plan.schedule.at(slot);
    const OpChoice choice{plan.ops[slot].implementation, plan.ops[slot].processor};
    if (op < 0 || op >= op_count) return bad_input(fmt::format("a plan of another graph: it has an op {}", op));
    std::optional<OpChoice>& known = found[as_index(op)];
    if (known && *known != choice) {
      return bad_input(fmt::format("the plan of '{}' runs op {} in two ways: it cannot be followed", plan.planner, op));
    }
    known = choice;
  }
  std::vector<OpChoice> choices;
  for (const std::optional<OpChoice>& each : found) choices.push_back(each.value_or(OpChoice{}));
  return choices;
}

ChoiceCounts count_choices(const Plan& plan) {
  ChoiceCounts counts;
  for (const OpPlacement& op : plan.ops) {
    if (op.implementation != 0) ++counts.other_kernels;
    if (op.processor != kMainProcessor) ++counts.other_processors;
  }
  return counts;
}

std::string describe_choices(const Plan& plan) {
  const ChoiceCounts counts = count_choices(plan);
  std::string text;
  const auto ops = [](OpIndex count) { return fmt::format("{} op{}", count, count == 1 ? "" : "s"); };
  if (counts.other_kernels > 0) text += ops(counts.other_kernels) + " by other kernels";
  if (counts.other_processors > 0) {
    text += (text.empty() ? "" : ", ") + ops(counts.other_processors) + " on other processors";
  }
  return text.empty() ? text : text + ": the bits are those of fast-only with the same choices";
}

}  // namespace sluice
