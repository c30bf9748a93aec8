#include "sluice/planners/zero_offload/updates_last.hpp"

#include <algorithm>
#include <utility>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

class UpdatesLast {
 public:
  UpdatesLast(const graph::Graph& graph, std::vector<graph::OpIndex> order)
      : graph_(graph),
        order_(std::move(order)),
        parted_(graph.tensors().size(), false),
        left_(graph.tensors().size(), 0),
        read_(left_),
        written_(left_) {
    for (const graph::Op& op : graph.ops()) {
      if (op.kind == graph::OpKind::kOwnPart) parted_[as_index(op.inputs[0])] = true;
    }
  }

  std::vector<graph::OpIndex> run() && {
    const auto is_input = [&](graph::OpIndex op) { return graph_.op(op).kind == graph::OpKind::kInput; };
    for (auto begin = order_.begin(); begin != order_.end();) {
      const auto end = std::find_if(begin + 1, order_.end(), is_input);
      sort_batch(begin, end);
      begin = end;
    }
    return std::move(order_);
  }

 private:
  using Place = std::vector<graph::OpIndex>::iterator;

  void sort_batch(Place begin, Place end) {
    const auto updates =
        std::stable_partition(begin, end, [&](graph::OpIndex op) { return is_of_passes(graph_.op(op)); });
    for (auto place = begin; place != updates; ++place) {
      const graph::Op& op = graph_.op(*place);
      for (const auto* operands : {&op.inputs, &op.outputs}) {
        for (const graph::TensorId id : *operands) left_[as_index(id)] = place - order_.begin() + 1;
      }
    }
    std::vector<std::pair<std::ptrdiff_t, graph::OpIndex>> ready;
    for (auto op = updates; op != end; ++op) ready.emplace_back(ready_at(graph_.op(*op)), *op);
    std::ranges::stable_sort(ready, {}, &std::pair<std::ptrdiff_t, graph::OpIndex>::first);
    std::ranges::transform(ready, updates, &std::pair<std::ptrdiff_t, graph::OpIndex>::second);
  }

  // A rank's part of a parameter is copied where its gradient is made: whoever updates needs both.
  bool is_of_passes(const graph::Op& op) const {
    const bool copies = op.kind == graph::OpKind::kReorder && parted_[as_index(op.outputs[0])];
    return op.phase != graph::Phase::kUpdate || op.kind == graph::OpKind::kOwnPart || copies;
  }

  // Behind whatever touched its operands before, of the passes and of updates.
  std::ptrdiff_t ready_at(const graph::Op& op) {
    std::ptrdiff_t at = 0;
    for (const graph::TensorId id : op.inputs) at = std::max({at, left_[as_index(id)], written_[as_index(id)]});
    for (const graph::TensorId id : op.outputs) at = std::max({at, read_[as_index(id)], written_[as_index(id)]});
    for (const graph::TensorId id : op.inputs) read_[as_index(id)] = std::max(read_[as_index(id)], at);
    for (const graph::TensorId id : op.outputs) written_[as_index(id)] = at;
    return at;
  }

  const graph::Graph& graph_;
  std::vector<graph::OpIndex> order_;
  std::vector<bool> parted_;  // by tensor: ranks take their parts of it
  // By tensor: how many ops of the passes have run when they are done with it, and when updates read or write it.
  std::vector<std::ptrdiff_t> left_, read_, written_;
};

}  // namespace

std::vector<graph::OpIndex> updates_last(const graph::Graph& graph, std::vector<graph::OpIndex> order) {
  return UpdatesLast(graph, std::move(order)).run();
}

}  // namespace sluice::planners
