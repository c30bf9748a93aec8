#include "sluice/plan/verify/same_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/value_numbers.hpp"

namespace sluice::plan {
namespace {

std::string describe(const graph::Graph& graph, const graph::ValueNumber& value) {
  if (value.op == graph::kBeforeTheStep) return "what was there before the step";
  return fmt::format("what {} writes", graph.op(value.op).name);
}

class ValueCheck {
 public:
  ValueCheck(const graph::Graph& graph, const graph::Rescheduled& scheduled, std::size_t most)
      : graph_(graph),
        scheduled_(scheduled),
        most_(most),
        own_(graph::number_values(graph)),
        runs_(graph.ops().size(), 0) {
    for (std::size_t id = 0; id < scheduled.graph.tensors().size(); ++id) now_.push_back({graph::kBeforeTheStep, id});
  }

  std::vector<Violation> run() {
    check_tensors();
    for (graph::OpIndex slot = 0; slot < scheduled_.graph.op_count(); ++slot) run_slot(slot);
    for (graph::OpIndex index = 0; index < graph_.op_count(); ++index) {
      if (runs_[as_index(index)] == 0 && !own_.repeats[as_index(index)]) {
        violation(fmt::format("op {} never runs", graph_.op(index).name));
      }
    }
    check_end();
    return std::move(violations_);
  }

 private:
  void violation(std::string message) {
    if (violations_.size() < most_) violations_.push_back({Rule::kSameValues, std::move(message)});
  }

  void check_tensors() {
    for (graph::TensorId id = 0; id < scheduled_.graph.tensor_count(); ++id) {
      const graph::Tensor& now = scheduled_.graph.tensor(id);
      const graph::TensorId of = scheduled_.tensor_of[as_index(id)];
      const graph::Tensor& given = graph_.tensor(of);
      if (!graph::lie_alike(now, given) || now.role != given.role || (id < graph_.tensor_count() && of != id)) {
        violation(fmt::format("tensor {} is not like {}, which it stands for", now.name, given.name));
      }
    }
  }

  void run_slot(graph::OpIndex slot) {
    const graph::OpIndex index = scheduled_.op_of[as_index(slot)];
    const bool again = runs_[as_index(index)]++ > 0;
    const graph::Op& given = graph_.op(index);
    if (again && !graph::may_repeat(given.kind)) {
      violation(fmt::format("slot {} runs {} again, and an op of kind {} runs once a step", slot, given.name,
                            to_string(given.kind)));
    }
    const graph::Op form = again ? graph::repeated_form(given) : given;
    const graph::Op& op = scheduled_.graph.op(slot);
    if (op.kind != form.kind || !(op.attributes == form.attributes) || !(op.slice == form.slice) ||
        op.views != form.views ||
        !std::ranges::equal(form.inputs, op.inputs,
                            [&](graph::TensorId a, graph::TensorId b) { return readable_as(form, a, b); }) ||
        !std::ranges::equal(form.outputs, op.outputs, {}, {}, [&](graph::TensorId id) { return given_of(id); })) {
      violation(fmt::format("slot {} is not what the schedule says, {}", slot, given.name));
    }
    check_reads(slot, index, form, op);
    for (std::size_t i = 0; i < std::min(op.outputs.size(), form.outputs.size()); ++i) {
      now_[as_index(op.outputs[i])] = written(index, form.outputs[i]);
    }
  }

  graph::TensorId given_of(graph::TensorId id) const { return scheduled_.tensor_of[as_index(id)]; }

  // The values must be equal, too; check_reads() sees to that. What an op overwrites is its own.
  bool readable_as(const graph::Op& form, graph::TensorId given, graph::TensorId now) const {
    if (given_of(now) == given) return true;
    const bool overwritten = std::ranges::find(form.outputs, given) != form.outputs.end();
    return !overwritten && lie_alike(graph_.tensor(given), scheduled_.graph.tensor(now));
  }

  // What the op, as given, writes into the tensor.
  graph::ValueNumber written(graph::OpIndex index, graph::TensorId given) const {
    const auto& outputs = graph_.op(index).outputs;
    return own_.writes[as_index(index)][as_index(std::ranges::find(outputs, given) - outputs.begin())];
  }

  // What input `i` of the form must hold. A form may also read what the op itself wrote the first time.
  graph::ValueNumber expected(graph::OpIndex index, const graph::Op& form, std::size_t i) const {
    const graph::Op& given = graph_.op(index);
    const auto input = std::ranges::find(given.inputs, form.inputs[i]);
    if (input == given.inputs.end()) return written(index, form.inputs[i]);
    return own_.reads[as_index(index)][as_index(input - given.inputs.begin())];
  }

  void check_reads(graph::OpIndex slot, graph::OpIndex index, const graph::Op& form, const graph::Op& op) {
    for (std::size_t i = 0; i < std::min(op.inputs.size(), form.inputs.size()); ++i) {
      const graph::ValueNumber read = now_[as_index(op.inputs[i])];
      const graph::ValueNumber wanted = expected(index, form, i);
      if (read == wanted) continue;
      violation(fmt::format("slot {}, {}, reads of {} {} where the graph's order has {}", slot, op.name,
                            graph_.tensor(form.inputs[i]).name, describe(graph_, read), describe(graph_, wanted)));
    }
  }

  void check_end() {
    for (graph::TensorId id = 0; id < graph_.tensor_count(); ++id) {
      const graph::Role role = graph_.tensor(id).role;
      if (!graph::is_persistent(role) && role != graph::Role::kOutput) continue;
      if (now_[as_index(id)] == own_.at_end[as_index(id)]) continue;
      violation(fmt::format("at the end {} holds {} where the graph's order leaves {}", graph_.tensor(id).name,
                            describe(graph_, now_[as_index(id)]), describe(graph_, own_.at_end[as_index(id)])));
    }
  }

  const graph::Graph& graph_;
  const graph::Rescheduled& scheduled_;
  std::size_t most_;
  graph::ValueNumbers own_;
  std::vector<int> runs_;
  std::vector<graph::ValueNumber> now_;  // by tensor of the schedule's graph
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> check_same_values(const graph::Graph& graph, const graph::Rescheduled& scheduled,
                                         std::size_t most) {
  return ValueCheck(graph, scheduled, most).run();
}

std::vector<Violation> check_same_choices(const graph::Graph& graph, std::span<const graph::OpIndex> schedule,
                                          std::span<const graph::OpChoice> choices, std::size_t most) {
  std::vector<std::optional<std::size_t>> first(graph.ops().size());  // by op: its first slot
  std::vector<Violation> violations;
  for (std::size_t slot = 0; slot < schedule.size() && violations.size() < most; ++slot) {
    std::optional<std::size_t>& made = first[as_index(schedule[slot])];
    if (!made) made = slot;
    if (choices[slot] == choices[*made]) continue;
    violations.push_back(
        {Rule::kSameValues,
         fmt::format("slots {} and {} run {} by implementations {} and {} on processors {} and {}", *made, slot,
                     graph.op(schedule[slot]).name, choices[*made].implementation, choices[slot].implementation,
                     choices[*made].processor, choices[slot].processor)});
  }
  return violations;
}

}  // namespace sluice::plan
