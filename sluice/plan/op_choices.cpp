#include "sluice/plan/op_choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/value_numbers.hpp"

namespace sluice::plan {

namespace {

graph::OpIndex op_of_slot(const Plan& plan, std::size_t slot) {
  return plan.schedule.empty() ? as_id<graph::OpIndex>(slot) : plan.schedule.at(slot);
}

// By op; nothing for one that the plan leaves out.
Result<std::vector<std::optional<graph::OpChoice>>> known_choices(const Plan& plan, graph::OpIndex op_count) {
  std::vector<std::optional<graph::OpChoice>> found(as_index(op_count));
  for (std::size_t slot = 0; slot < plan.ops.size(); ++slot) {
    const graph::OpIndex op = op_of_slot(plan, slot);
    const graph::OpChoice choice{plan.ops[slot].implementation, plan.ops[slot].processor};
    if (op < 0 || op >= op_count) return bad_input(fmt::format("a plan of another graph: it has an op {}", op));
    std::optional<graph::OpChoice>& known = found[as_index(op)];
    if (known && *known != choice) {
      return bad_input(fmt::format("the plan of '{}' runs op {} in two ways: it cannot be followed", plan.planner, op));
    }
    known = choice;
  }
  return found;
}

}  // namespace

Result<std::vector<graph::OpChoice>> choices_by_op(const Plan& plan, const graph::Graph& graph) {
  SLUICE_ASSIGN(const auto found, known_choices(plan, graph.op_count()));
  std::vector<graph::OpChoice> choices;
  for (std::size_t op = 0; op < found.size(); ++op) {
    choices.push_back(found[op].value_or(graph::OpChoice{0, graph.ops()[op].processor}));
  }
  if (std::ranges::all_of(found, [](const auto& known) { return known.has_value(); })) return choices;
  const graph::ValueNumbers values = graph::number_values(graph);
  for (std::size_t op = 0; op < found.size(); ++op) {
    if (!found[op] && values.repeats[op]) choices[op] = choices[as_index(*values.repeats[op])];
  }
  return choices;
}

bool same_choices(const Plan& a, const Plan& b, const graph::Graph& graph) {
  const auto of_a = choices_by_op(a, graph);
  const auto of_b = choices_by_op(b, graph);
  return of_a.ok() && of_b.ok() && *of_a == *of_b;
}

Status check_choices(const graph::Graph& graph, ProcessorId processors, const std::vector<graph::OpChoice>& choices) {
  for (std::size_t index = 0; index < choices.size(); ++index) {
    const graph::Op& op = graph.op(as_id<graph::OpIndex>(index));
    const auto known = static_cast<std::int32_t>(std::max<std::size_t>(1, op.implementations.size()));
    const graph::OpChoice& choice = choices[index];
    if (choice.implementation < 0 || choice.implementation >= known) {
      return bad_input(
          fmt::format("{} has {} implementations, none of them number {}", op.name, known, choice.implementation));
    }
    if (choice.processor < 0 || choice.processor >= processors) {
      return bad_input(fmt::format("{} is to run on processor {}, and there are {}: name them with --processors",
                                   op.name, choice.processor, processors));
    }
    if (std::ranges::find(op.no_kernel_on, choice.processor) != op.no_kernel_on.end()) {
      return bad_input(
          fmt::format("{} cannot run on processor {}: its backend has no kernel for it", op.name, choice.processor));
    }
  }
  return {};
}

ChoiceCounts count_choices(const Plan& plan) {
  std::set<graph::OpIndex> by_other_kernels;
  std::set<graph::OpIndex> on_other_processors;
  for (std::size_t slot = 0; slot < plan.ops.size(); ++slot) {
    const graph::OpIndex op = plan.schedule.empty() ? as_id<graph::OpIndex>(slot) : plan.schedule.at(slot);
    if (plan.ops[slot].implementation != 0) by_other_kernels.insert(op);
    if (plan.ops[slot].processor != kMainProcessor) on_other_processors.insert(op);
  }
  return {as_id<graph::OpIndex>(by_other_kernels.size()), as_id<graph::OpIndex>(on_other_processors.size())};
}

std::string describe_choices(const Plan& plan) {
  const ChoiceCounts counts = count_choices(plan);
  std::string text;
  const auto ops = [](graph::OpIndex count) { return fmt::format("{} op{}", count, count == 1 ? "" : "s"); };
  if (counts.other_kernels > 0) text += ops(counts.other_kernels) + " by other kernels than the default";
  if (counts.other_processors > 0) {
    text += (text.empty() ? "" : ", ") + ops(counts.other_processors) + " on other processors";
  }
  return text.empty() ? text : text + ": bits are those of fast-only with --choices-of this plan";
}

}  // namespace sluice::plan
