#include "sluice/policies/dtr/step_values.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::policies {
namespace {

constexpr ValueId kNoValue = -1;
constexpr graph::OpIndex kNever = std::numeric_limits<graph::OpIndex>::min();
constexpr graph::OpIndex kForGood = std::numeric_limits<graph::OpIndex>::max();

class ValueFinder {
 public:
  // `graph`: what the ops `kept` make of the given one.
  ValueFinder(const graph::Graph& given, const graph::Graph& graph, const std::vector<graph::OpIndex>& kept)
      : given_(given), graph_(graph), kept_(kept), now_(graph.tensors().size(), kNoValue) {}

  StepValues find() && {
    add_persistent();
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) add_runs(op);
    keep_results();
    find_evictable();
    find_needs();
    drop_runs_for_nothing();
    add_kernels();
    return std::move(found_);
  }

 private:
  StepValue& value(ValueId id) { return found_.values[as_index(id)]; }

  ValueId add_value(graph::TensorId tensor, graph::OpIndex maker) {
    const graph::Tensor& description = graph_.tensor(tensor);
    found_.values.push_back({.tensor = tensor,
                             .maker = maker,
                             .bytes = description.bytes,
                             .last_use = maker,
                             .persistent = graph::is_persistent(description.role)});
    overwritten_.push_back(kForGood);
    return now_[as_index(tensor)] = as_id<ValueId>(found_.values.size()) - 1;
  }

  void add_persistent() {
    for (graph::TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
      if (graph::is_persistent(graph_.tensor(tensor).role)) add_value(tensor, graph::kBeforeTheStep);
    }
  }

  void add_runs(graph::OpIndex index) {
    const graph::Op& op = graph_.op(index);
    OpRun first{.slot = index, .inputs = {}, .outputs = {}};
    for (const graph::TensorId id : op.inputs) {
      const ValueId read = now_[as_index(id)];
      SLUICE_CHECK(read != kNoValue, op.name + " reads what an op before it has made");
      value(read).last_use = index;
      first.inputs.push_back(read);
    }
    for (const graph::TensorId id : op.outputs) {
      const ValueId before = now_[as_index(id)];
      const bool in_place = std::ranges::find(op.inputs, id) != op.inputs.end();
      if (before != kNoValue && (in_place || value(before).persistent)) overwritten_[as_index(before)] = index;
      first.outputs.push_back(add_value(id, index));
    }
    found_.again.push_back(graph::may_repeat(op.kind) ? run_again(op, first) : OpRun{});
    found_.first.push_back(std::move(first));
  }

  // What the repeated form names among its inputs is an operand of the first run, as input or as its output.
  static OpRun run_again(const graph::Op& op, const OpRun& first) {
    const graph::Op form = graph::repeated_form(op);
    const auto of = [](const std::vector<graph::TensorId>& tensors, const std::vector<ValueId>& values,
                       graph::TensorId id) {
      const auto at = std::ranges::find(tensors, id);
      return at == tensors.end() ? kNoValue : values[as_index(at - tensors.begin())];
    };
    OpRun again;
    for (const graph::TensorId id : form.inputs) {
      const ValueId read = of(op.inputs, first.inputs, id);
      again.inputs.push_back(read == kNoValue ? of(op.outputs, first.outputs, id) : read);
    }
    for (const graph::TensorId id : form.outputs) again.outputs.push_back(of(op.outputs, first.outputs, id));
    return again;
  }

  void keep_results() {
    for (const ValueId id : now_) {
      if (id == kNoValue) continue;
      const bool result = value(id).persistent || graph_.tensor(value(id).tensor).role == graph::Role::kOutput;
      if (result) value(id).last_use = graph_.op_count();
    }
  }

  // What a value is made of comes before it, so one pass is enough. What runs only once is held for those that need it;
  // what misses its last use by a deadline is not held any longer than for its own uses.
  void find_evictable() {
    at_hand_until_.assign(found_.values.size(), kNever);
    for (ValueId id = 0; id < as_id<ValueId>(found_.values.size()); ++id) {
      const graph::OpIndex until = makeable_until(id);
      StepValue& each = value(id);
      each.evictable = until >= each.last_use;
      const graph::OpIndex held = until == kNever ? kForGood : each.last_use;
      at_hand_until_[as_index(id)] = each.evictable ? until : std::min(held, overwritten(id));
    }
  }

  graph::OpIndex overwritten(ValueId id) const { return overwritten_[as_index(id)]; }

  // The last op for which it can be made again.
  graph::OpIndex makeable_until(ValueId id) {
    const StepValue& each = value(id);
    const graph::Role role = graph_.tensor(each.tensor).role;
    if (each.maker < 0 || each.persistent || role == graph::Role::kOutput || role == graph::Role::kWorkspace)
      return kNever;
    const OpRun& again = found_.again[as_index(each.maker)];
    if (std::ranges::find(again.outputs, id) == again.outputs.end()) return kNever;
    if (overwrites(again) && !overwrites(again, id)) return kNever;
    graph::OpIndex until = kForGood;
    for (const ValueId read : again.inputs) {
      const bool own = value(read).maker == each.maker;  // statistics, which the op itself has made
      until = std::min(until, own ? overwritten(read) : at_hand_until_[as_index(read)]);
    }
    return until;
  }

  // Whether it writes the value, or any, in place of one that it reads.
  bool overwrites(const OpRun& run, ValueId output) {
    return std::ranges::any_of(run.inputs, [&](ValueId input) { return value(input).tensor == value(output).tensor; });
  }
  bool overwrites(const OpRun& run) {
    return std::ranges::any_of(run.outputs, [&](ValueId output) { return overwrites(run, output); });
  }

  void find_needs() {
    found_.made_of.resize(found_.values.size());
    found_.makes.resize(found_.values.size());
    found_.last_needed.resize(graph_.ops().size());
    for (StepValue& each : found_.values) each.needed_until = each.last_use;
    for (auto id = as_id<ValueId>(found_.values.size()) - 1; id >= 0; --id) {
      if (value(id).evictable) need_what_makes(id);
    }
    for (ValueId id = 0; id < as_id<ValueId>(found_.values.size()); ++id) {
      const graph::OpIndex until = value(id).needed_until;
      if (until >= 0 && until < graph_.op_count()) found_.last_needed[as_index(until)].push_back(id);
    }
  }

  void need_what_makes(ValueId id) {
    std::vector<ValueId> reads = found_.again[as_index(value(id).maker)].inputs;
    std::ranges::sort(reads);
    const auto repeated = std::ranges::unique(reads);
    reads.erase(repeated.begin(), repeated.end());
    for (const ValueId read : reads) {
      value(read).needed_until = std::max(value(read).needed_until, value(id).needed_until);
      if (!value(read).evictable) continue;
      found_.made_of[as_index(id)].push_back(read);
      found_.makes[as_index(read)].push_back(id);
    }
  }

  void drop_runs_for_nothing() {
    for (OpRun& again : found_.again) {
      if (std::ranges::none_of(again.outputs, [&](ValueId id) { return value(id).evictable; })) again = {};
    }
  }

  void add_kernels() {
    std::vector<graph::OpIndex> schedule = kept_;
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
      OpRun& again = found_.again[as_index(op)];
      if (again.outputs.empty()) continue;
      again.slot = as_id<graph::OpIndex>(schedule.size());
      schedule.push_back(kept_[as_index(op)]);
    }
    found_.kernels = graph::reschedule(given_, schedule).value();
  }

  const graph::Graph& given_;
  const graph::Graph& graph_;
  const std::vector<graph::OpIndex>& kept_;
  std::vector<ValueId> now_;                   // by tensor: what it holds
  std::vector<graph::OpIndex> overwritten_;    // by value: the op that writes something else in its place
  std::vector<graph::OpIndex> at_hand_until_;  // by value: the last op for which it is there or can be made again
  StepValues found_;
};

}  // namespace

StepValues find_step_values(const graph::Graph& graph) {
  std::vector<graph::OpIndex> kept(graph.ops().size());
  std::iota(kept.begin(), kept.end(), 0);
  for (const graph::Repetition& each : graph::repetitions(graph)) std::erase(kept, each.op);
  const graph::Rescheduled step = graph::reschedule(graph, kept).value();
  return ValueFinder(graph, step.graph, kept).find();
}

}  // namespace sluice::policies
