#include "sluice/graph/reschedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/value_numbers.hpp"

namespace sluice::graph {
namespace {

class Rescheduling {
 public:
  Rescheduling(const Graph& graph, std::span<const OpIndex> schedule) : given_(graph), runs_(graph.ops().size(), 0) {
    result_.graph.name = graph.name;
    result_.graph.layers = graph.layers;
    for (const Tensor& tensor : graph.tensors()) result_.graph.add_tensor(tensor);
    result_.tensor_of.resize(graph.tensors().size());
    std::iota(result_.tensor_of.begin(), result_.tensor_of.end(), 0);
    newest_ = result_.tensor_of;
    copies_.assign(graph.tensors().size(), 1);
    read_instead_ = result_.tensor_of;
    leave_out(schedule);
  }

  void run(OpIndex index) {
    const bool again = runs_[as_index(index)]++ > 0;
    Op op = again ? repeated_form(given_.op(index)) : given_.op(index);
    const std::vector<TensorId> read = op.inputs;
    for (TensorId& id : op.inputs) id = newest_[as_index(read_instead_[as_index(id)])];
    for (TensorId& id : op.outputs) {
      if (again && std::ranges::find(read, id) == read.end()) make_anew(id);
      id = newest_[as_index(id)];
    }
    if (again) op.name += fmt::format(".{}", runs_[as_index(index)]);
    result_.graph.add_op(std::move(op));
    result_.op_of.push_back(index);
  }

  Rescheduled finish() && { return std::move(result_); }

 private:
  void leave_out(std::span<const OpIndex> schedule) {
    std::vector<bool> runs(given_.ops().size(), false);
    for (const OpIndex index : schedule) {
      if (index >= 0 && index < given_.op_count()) runs[as_index(index)] = true;
    }
    if (std::ranges::find(runs, false) == runs.end()) return;
    const std::vector<TensorId> first = first_tensors(given_, number_values(given_));
    for (OpIndex index = 0; index < given_.op_count(); ++index) {
      if (runs[as_index(index)]) continue;
      for (const TensorId id : given_.op(index).outputs) read_instead_[as_index(id)] = first[as_index(id)];
    }
  }

  void make_anew(TensorId id) {
    Tensor copy = given_.tensor(id);
    copy.name += fmt::format(".{}", ++copies_[as_index(id)]);
    newest_[as_index(id)] = result_.graph.add_tensor(std::move(copy));
    result_.tensor_of.push_back(id);
  }

  const Graph& given_;
  Rescheduled result_;
  std::vector<int> runs_;               // by op of the given graph
  std::vector<int> copies_;             // by tensor of the given graph
  std::vector<TensorId> newest_;        // by tensor of the given graph: which one holds it now
  std::vector<TensorId> read_instead_;  // by tensor of the given graph: itself, or one with the same value
};

}  // namespace

bool is_own_order(std::span<const OpIndex> schedule, OpIndex op_count) {
  const bool rises = std::ranges::adjacent_find(schedule, std::ranges::greater_equal{}) == schedule.end();
  return rises && schedule.size() == as_index(op_count);
}

bool updates_may_run_last(const Graph& graph) {
  std::vector<bool> updated(graph.tensors().size(), false);
  for (const Op& op : graph.ops()) {
    if (op.phase == Phase::kUpdate) {
      for (const TensorId id : op.outputs) updated[as_index(id)] = true;
    } else if (std::ranges::any_of(op.inputs, [&](TensorId id) { return updated[as_index(id)]; })) {
      return false;
    }
  }
  return true;
}

Result<Rescheduled> reschedule(const Graph& graph, std::span<const OpIndex> schedule) {
  Rescheduling rescheduling(graph, schedule);
  for (std::size_t slot = 0; slot < schedule.size(); ++slot) {
    if (schedule[slot] < 0 || schedule[slot] >= graph.op_count()) {
      return bad_input(fmt::format("slot {} of the schedule runs op {}, and the graph has ops 0 to {}", slot,
                                   schedule[slot], graph.op_count() - 1));
    }
    rescheduling.run(schedule[slot]);
  }
  return std::move(rescheduling).finish();
}

}  // namespace sluice::graph
