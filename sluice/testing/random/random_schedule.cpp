#include "sluice/testing/random/random_schedule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/base/random.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/graph/value_numbers.hpp"

namespace sluice::testing {
namespace {

using Writer = graph::OpIndex;  // -1: before the step

// Runs ops that may run at any moment. Values are known by who wrote them.
class Shuffle {
 public:
  explicit Shuffle(const graph::Graph& graph)
      : graph_(graph), runs_(graph.ops().size(), 0), holds_(graph.tensors().size(), -1) {
    std::vector<Writer> writers(graph.tensors().size(), -1);
    for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
      for (const graph::TensorId id : graph.op(index).inputs) {
        reads_.emplace_back(index, std::pair{id, writers[as_index(id)]});
      }
      for (const graph::TensorId id : graph.op(index).outputs) writers[as_index(id)] = index;
    }
  }

  std::vector<graph::OpIndex> may_run() const {
    std::vector<graph::OpIndex> found;
    for (graph::OpIndex index = 0; index < graph_.op_count(); ++index) {
      if (may_run(index)) found.push_back(index);
    }
    return found;
  }

  void run(graph::OpIndex index) {
    const graph::Op op = form_of(index);
    ++runs_[as_index(index)];
    for (const graph::TensorId id : op.outputs) holds_[as_index(id)] = index;
  }

  bool ran(graph::OpIndex index) const { return runs_[as_index(index)] > 0; }

 private:
  graph::Op form_of(graph::OpIndex index) const {
    return ran(index) ? graph::repeated_form(graph_.op(index)) : graph_.op(index);
  }

  bool may_run(graph::OpIndex index) const {
    if (ran(index) && !graph::may_repeat(graph_.op(index).kind)) return false;
    const graph::Op op = form_of(index);
    for (const graph::TensorId id : op.inputs) {
      if (holds_[as_index(id)] != wanted(index, id)) return false;
    }
    return std::ranges::all_of(op.outputs, [&](graph::TensorId id) { return may_replace(id, index); });
  }

  Writer wanted(graph::OpIndex reader, graph::TensorId id) const {
    for (const auto& [index, read] : reads_) {
      if (index == reader && read.first == id) return read.second;
    }
    return reader;  // a batch norm's own statistics
  }

  // Whether nobody misses what the tensor holds once `writer` has written it.
  bool may_replace(graph::TensorId id, graph::OpIndex writer) const {
    const Writer now = holds_[as_index(id)];
    if (now == writer) return true;
    const graph::Role role = graph_.tensor(id).role;
    if ((graph::is_persistent(role) || role == graph::Role::kOutput) && ran(writer)) return false;
    return std::ranges::all_of(reads_, [&](const auto& read) {
      return read.second != std::pair{id, now} || read.first == writer || ran(read.first);
    });
  }

  const graph::Graph& graph_;
  std::vector<int> runs_;
  std::vector<Writer> holds_;  // by tensor
  std::vector<std::pair<graph::OpIndex, std::pair<graph::TensorId, Writer>>> reads_;
};

std::vector<graph::OpIndex> shuffled(const graph::Graph& graph, std::uint64_t seed, double repeats) {
  Shuffle shuffle(graph);
  std::vector<graph::OpIndex> schedule;
  const auto wanted = as_index(repeats * graph.op_count());
  for (std::uint64_t turn = 0;; ++turn) {
    std::vector<graph::OpIndex> choices = shuffle.may_run();
    if (schedule.size() >= wanted) std::erase_if(choices, [&](graph::OpIndex index) { return shuffle.ran(index); });
    if (choices.empty()) break;
    schedule.push_back(choices[random_bits(seed, 1, turn) % choices.size()]);
    shuffle.run(schedule.back());
  }
  return schedule;
}

// Some of the ops that only make again what another has made do not run.
std::vector<graph::OpIndex> without_some(const graph::Graph& graph, std::uint64_t seed) {
  const std::vector<graph::Repetition> needless = graph::repetitions(graph);
  std::vector<graph::OpIndex> schedule;
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    const bool may_go = std::ranges::find(needless, index, &graph::Repetition::op) != needless.end();
    if (!may_go || random_bits(seed, 2, static_cast<std::uint64_t>(index)) % 2 == 0) schedule.push_back(index);
  }
  return schedule;
}

}  // namespace

std::vector<graph::OpIndex> random_schedule(const graph::Graph& graph, std::uint64_t seed, double repeats) {
  const graph::Rescheduled shorter = graph::reschedule(graph, without_some(graph, seed)).value();
  std::vector<graph::OpIndex> schedule = shuffled(shorter.graph, seed, repeats);
  for (graph::OpIndex& op : schedule) op = shorter.op_of[as_index(op)];
  return schedule;
}

}  // namespace sluice::testing
