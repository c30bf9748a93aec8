#include "sluice/plan/verify/same_values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/op_traits.hpp"

namespace sluice {
namespace {

constexpr OpIndex kBeforeTheStep = -1;

// Who wrote a tensor last.
struct Version {
  OpIndex op = kBeforeTheStep;
  std::size_t output = 0;
  bool operator==(const Version&) const = default;
};

using Versions = std::vector<Version>;  // by tensor

std::string describe(const Graph& graph, const Version& version) {
  if (version.op == kBeforeTheStep) return "what was there before the step";
  return fmt::format("what {} writes", graph.op(version.op).name);
}

Versions read_by(const Op& op, const Versions& now) {
  Versions read;
  for (const TensorId id : op.inputs) read.push_back(now[as_index(id)]);
  return read;
}

void write(const Op& op, OpIndex index, Versions& now) {
  for (std::size_t i = 0; i < op.outputs.size(); ++i) now[as_index(op.outputs[i])] = {index, i};
}

// The graph in its own order.
struct OwnOrder {
  std::vector<Versions> reads;  // by op
  Versions at_end;
};

OwnOrder own_order(const Graph& graph) {
  OwnOrder own;
  own.at_end.resize(graph.tensors().size());
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    own.reads.push_back(read_by(graph.op(index), own.at_end));
    write(graph.op(index), index, own.at_end);
  }
  return own;
}

bool same_tensors(const std::vector<TensorId>& given, const std::vector<TensorId>& now,
                  const std::vector<TensorId>& tensor_of) {
  return std::ranges::equal(given, now, {}, {}, [&](TensorId id) { return tensor_of[as_index(id)]; });
}

class ValueCheck {
 public:
  ValueCheck(const Graph& graph, const Rescheduled& scheduled, std::size_t most)
      : graph_(graph), scheduled_(scheduled), most_(most), own_(own_order(graph)), runs_(graph.ops().size(), 0) {
    now_.resize(scheduled.graph.tensors().size());
  }

  std::vector<Violation> run() {
    check_tensors();
    for (OpIndex slot = 0; slot < scheduled_.graph.op_count(); ++slot) run_slot(slot);
    for (OpIndex index = 0; index < graph_.op_count(); ++index) {
      if (runs_[as_index(index)] == 0) violation(fmt::format("op {} never runs", graph_.op(index).name));
    }
    check_end();
    return std::move(violations_);
  }

 private:
  void violation(std::string message) {
    if (violations_.size() < most_) violations_.push_back({Rule::kSameValues, std::move(message)});
  }

  void check_tensors() {
    for (TensorId id = 0; id < scheduled_.graph.tensor_count(); ++id) {
      const Tensor& now = scheduled_.graph.tensor(id);
      const TensorId of = scheduled_.tensor_of[as_index(id)];
      const Tensor& given = graph_.tensor(of);
      const bool alike = now.bytes == given.bytes && now.dtype == given.dtype && now.layout == given.layout &&
                         now.shape == given.shape && now.role == given.role;
      if (!alike || (id < graph_.tensor_count() && of != id)) {
        violation(fmt::format("tensor {} is not like {}, which it stands for", now.name, given.name));
      }
    }
  }

  void run_slot(OpIndex slot) {
    const OpIndex index = scheduled_.op_of[as_index(slot)];
    const bool again = runs_[as_index(index)]++ > 0;
    const Op& given = graph_.op(index);
    if (again && !may_repeat(given.kind)) {
      violation(fmt::format("slot {} runs {} again, and an op of kind {} runs once a step", slot, given.name,
                            to_string(given.kind)));
    }
    const Op form = again ? repeated_form(given) : given;
    const Op& op = scheduled_.graph.op(slot);
    if (op.kind != form.kind || !(op.attributes == form.attributes) || op.views != form.views ||
        !same_tensors(form.inputs, op.inputs, scheduled_.tensor_of) ||
        !same_tensors(form.outputs, op.outputs, scheduled_.tensor_of)) {
      violation(fmt::format("slot {} is not what the schedule says, {}", slot, given.name));
    }
    check_reads(slot, index, form, op);
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      now_[as_index(op.outputs[i])] = {index, output_of(form, given, i)};
  }

  // Which output of the op as given the form's output `i` is.
  static std::size_t output_of(const Op& form, const Op& given, std::size_t i) {
    return static_cast<std::size_t>(std::ranges::find(given.outputs, form.outputs[i]) - given.outputs.begin());
  }

  // The version that input `i` of the form must have. A form may also read what the op itself wrote the first time.
  Version expected(OpIndex index, const Op& form, std::size_t i) const {
    const Op& given = graph_.op(index);
    const auto input = std::ranges::find(given.inputs, form.inputs[i]);
    if (input != given.inputs.end()) {
      return own_.reads[as_index(index)][static_cast<std::size_t>(input - given.inputs.begin())];
    }
    const auto output = std::ranges::find(given.outputs, form.inputs[i]);
    return {index, static_cast<std::size_t>(output - given.outputs.begin())};
  }

  void check_reads(OpIndex slot, OpIndex index, const Op& form, const Op& op) {
    const Versions read = read_by(op, now_);
    for (std::size_t i = 0; i < std::min(read.size(), form.inputs.size()); ++i) {
      const Version wanted = expected(index, form, i);
      if (read[i] == wanted) continue;
      violation(fmt::format("slot {}, {}, reads of {} {} where the graph's order has {}", slot, op.name,
                            graph_.tensor(form.inputs[i]).name, describe(graph_, read[i]), describe(graph_, wanted)));
    }
  }

  void check_end() {
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      const Role role = graph_.tensor(id).role;
      if (!is_persistent(role) && role != Role::kOutput) continue;
      if (now_[as_index(id)] == own_.at_end[as_index(id)]) continue;
      violation(fmt::format("at the end {} holds {} where the graph's order leaves {}", graph_.tensor(id).name,
                            describe(graph_, now_[as_index(id)]), describe(graph_, own_.at_end[as_index(id)])));
    }
  }

  const Graph& graph_;
  const Rescheduled& scheduled_;
  std::size_t most_;
  OwnOrder own_;
  std::vector<int> runs_;
  Versions now_;
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> check_same_values(const Graph& graph, const Rescheduled& scheduled, std::size_t most) {
  return ValueCheck(graph, scheduled, most).run();
}

}  // namespace sluice
