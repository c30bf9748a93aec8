#include "sluice/graph/value_numbers.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::graph {
namespace {

class Numbering {
 public:
  explicit Numbering(const Graph& graph) : graph_(graph) {
    for (std::size_t tensor = 0; tensor < graph.tensors().size(); ++tensor) {
      result_.at_end.push_back({kBeforeTheStep, tensor});
    }
  }

  ValueNumbers run() && {
    for (OpIndex index = 0; index < graph_.op_count(); ++index) number(index);
    return std::move(result_);
  }

 private:
  void number(OpIndex index) {
    const Op& op = graph_.op(index);
    std::vector<ValueNumber>& reads = result_.reads.emplace_back();
    for (const TensorId id : op.inputs) reads.push_back(now(id));
    std::vector<ValueNumber>& writes = result_.writes.emplace_back();
    for (std::size_t i = 0; i < op.outputs.size(); ++i) writes.push_back({index, i});
    result_.repeats.push_back(first_maker(index));
    for (std::size_t i = 0; i < op.outputs.size(); ++i) now(op.outputs[i]) = writes[i];
  }

  ValueNumber& now(TensorId id) { return result_.at_end[as_index(id)]; }

  // Looks the op up among those before it, and takes over the numbers of the values that one of them has made.
  std::optional<OpIndex> first_maker(OpIndex index) {
    const Op& op = graph_.op(index);
    if (!may_repeat(op.kind) || op.implementations.size() > 1 || overwrites(op)) return std::nullopt;
    const Op form = repeated_form(op);
    std::vector<ValueNumber> reads;
    for (const TensorId id : form.inputs) reads.push_back(value_read(index, id));
    std::vector<OpIndex>& makers = makers_[{form.kind, std::move(reads)}];
    for (const OpIndex maker : makers) {
      const Op first = repeated_form(graph_.op(maker));
      // A whole batch norm makes more than its apply part, so only that part repeats.
      const bool same = op.kind == form.kind && first.attributes == op.attributes && first.slice == op.slice &&
                        first.views == op.views;
      if (same && run_alike(op, first) && takes_over(index, maker, first)) return maker;
    }
    makers.push_back(index);
    return std::nullopt;
  }

  static bool overwrites(const Op& op) {
    return op.kind != OpKind::kBatchNorm && std::ranges::find_first_of(op.inputs, op.outputs) != op.inputs.end();
  }

  static bool run_alike(const Op& a, const Op& b) {
    return a.processor == b.processor &&
           std::ranges::equal(a.implementations, b.implementations, {}, &Implementation::name, &Implementation::name);
  }

  // Of an input of the op's repeated form, which may also read what the op itself writes.
  ValueNumber value_read(OpIndex index, TensorId id) {
    const Op& op = graph_.op(index);
    const auto output = std::ranges::find(op.outputs, id);
    const bool own = output != op.outputs.end() && std::ranges::find(op.inputs, id) == op.inputs.end();
    return own ? ValueNumber{index, as_index(output - op.outputs.begin())} : now(id);
  }

  bool takes_over(OpIndex index, OpIndex maker, const Op& first) {
    const Op& op = graph_.op(index);
    if (values_of(op) != values_of(first)) return false;
    std::vector<ValueNumber> taken = result_.writes[as_index(index)];
    std::size_t same = 0;
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (graph_.tensor(op.outputs[i]).role == Role::kWorkspace) continue;
      if (i >= first.outputs.size()) return false;
      if (!lie_alike(graph_.tensor(op.outputs[i]), graph_.tensor(first.outputs[i]))) return false;
      const auto of_maker = std::ranges::find(graph_.op(maker).outputs, first.outputs[i]);
      taken[i] = {maker, as_index(of_maker - graph_.op(maker).outputs.begin())};
      ++same;
    }
    if (same > 0) result_.writes[as_index(index)] = std::move(taken);
    return same > 0;
  }

  std::ptrdiff_t values_of(const Op& op) const {
    return std::ranges::count_if(op.outputs, [&](TensorId id) { return graph_.tensor(id).role != Role::kWorkspace; });
  }

  const Graph& graph_;
  std::map<std::pair<OpKind, std::vector<ValueNumber>>, std::vector<OpIndex>>
      makers_;  // by what decides an op's values
  ValueNumbers result_;
};

}  // namespace

bool lie_alike(const Tensor& a, const Tensor& b) {
  return a.bytes == b.bytes && a.dtype == b.dtype && a.layout == b.layout && a.shape == b.shape;
}

ValueNumbers number_values(const Graph& graph) { return Numbering(graph).run(); }

std::vector<TensorId> first_tensors(const Graph& graph, const ValueNumbers& values) {
  std::vector<int> writers(graph.tensors().size(), 0);
  for (const Op& op : graph.ops()) {
    for (const TensorId id : op.outputs) ++writers[as_index(id)];
  }
  const auto outlives_step = [&](TensorId id) {
    return is_persistent(graph.tensor(id).role) || graph.tensor(id).role == Role::kOutput;
  };
  std::vector<TensorId> first(graph.tensors().size());
  std::iota(first.begin(), first.end(), 0);
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    if (!values.repeats[as_index(index)]) continue;
    const std::vector<TensorId>& outputs = graph.op(index).outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ValueNumber value = values.writes[as_index(index)][i];
      const TensorId of_first = graph.op(value.op).outputs[value.at];
      const bool written_once = writers[as_index(outputs[i])] == 1 && writers[as_index(of_first)] == 1;
      if (written_once && !outlives_step(outputs[i]) && !outlives_step(of_first)) {
        first[as_index(outputs[i])] = of_first;
      }
    }
  }
  return first;
}

std::vector<Repetition> repetitions(const Graph& graph) {
  const ValueNumbers values = number_values(graph);
  const std::vector<TensorId> first = first_tensors(graph, values);
  std::vector<Repetition> found;
  for (OpIndex index = 0; index < graph.op_count(); ++index) {
    const std::optional<OpIndex> of = values.repeats[as_index(index)];
    const bool all_kept = std::ranges::all_of(graph.op(index).outputs, [&](TensorId id) {
      return graph.tensor(id).role == Role::kWorkspace || first[as_index(id)] != id;
    });
    if (of && all_kept) found.push_back({index, *of});
  }
  return found;
}

}  // namespace sluice::graph
