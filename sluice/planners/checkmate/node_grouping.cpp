#include "sluice/planners/checkmate/node_grouping.hpp"

#include <algorithm>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/schedule/rematerialization.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {
namespace {

using OpRange = Interval<graph::OpIndex>;

// A tensor as one node left it.
struct NodeResult {
  int node = 0;
  graph::TensorId tensor = 0;
  auto operator<=>(const NodeResult&) const = default;
};

class NodeGrouping {
 public:
  NodeGrouping(const PlanRequest& request, int most_nodes)
      : graph_(request.graph),
        costs_(request.graph, request.profile, request.machine),
        liveness_(graph::analyze_liveness(request.graph)),
        reads_(values_read(request.graph)),
        most_nodes_(as_index(most_nodes)) {
    result_.problem.capacity = request.budgets[memory::kFastTier];
    result_.problem.once = costs_.compute_seconds();
  }

  GroupedStep group() && {
    separate();
    if (result_.ops_of.size() > most_nodes_) put_together();
    number_ops();
    for (int node = 0; node < count_of(result_.ops_of); ++node) add_node(node);
    add_values();
    count_what_is_always_there();
    find_last_runs(result_.problem);
    return std::move(result_);
  }

 private:
  struct Neighbour {
    OpRange ops;
    double size = 0;  // shares of the step
    bool forward = false, again = false;
  };

  Bytes bytes_of(graph::TensorId id) const { return plan::room_for(graph_.tensor(id), memory::kFastTier, false).bytes; }
  bool is_forward(graph::OpIndex op) const { return graph_.op(op).phase == graph::Phase::kForward; }

  // Ops from a tensor's first forward writer to its last are one node.
  void separate() {
    std::vector<graph::OpIndex> joined_until(graph_.ops().size());
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) joined_until[as_index(op)] = op;
    for (graph::TensorId id = 0; id < graph_.tensor_count(); ++id) {
      if (graph::is_persistent(graph_.tensor(id).role)) continue;
      graph::OpIndex first = graph::kBeforeTheStep;
      for (const graph::Use& use : liveness_.uses[id]) {
        if (!use.writes || !is_forward(use.op)) continue;
        if (first == graph::kBeforeTheStep) first = use.op;
        joined_until[as_index(first)] = std::max(joined_until[as_index(first)], use.op);
      }
    }
    for (graph::OpIndex begin = 0; begin < graph_.op_count();) {
      graph::OpIndex last = begin;
      for (graph::OpIndex op = begin; op <= last; ++op) last = std::max(last, joined_until[as_index(op)]);
      result_.ops_of.push_back({begin, last + 1});
      begin = last + 1;
    }
  }

  Neighbour measured(OpRange ops) const {
    Neighbour result{.ops = ops, .forward = is_forward(ops.end - 1), .again = true};
    double made = 0, all = 0;
    for (graph::TensorId id = 0; id < graph_.tensor_count(); ++id) {
      if (graph::is_persistent(graph_.tensor(id).role) || liveness_.ranges[id].empty()) continue;
      all += static_cast<double>(bytes_of(id));
      made += ops.contains(liveness_.ranges[id].begin) ? static_cast<double>(bytes_of(id)) : 0;
    }
    for (graph::OpIndex op = ops.begin; op < ops.end; ++op) {
      result.size += costs_.op_seconds(op) / std::max(1e-12, costs_.compute_seconds());
      result.again = result.again && may_repeat(graph_.op(op).kind);
    }
    result.size += made / std::max(1.0, all);
    return result;
  }

  void put_together() {
    std::vector<Neighbour> all;
    for (const OpRange& ops : result_.ops_of) all.push_back(measured(ops));
    const auto fit = [](const Neighbour& a, const Neighbour& b) {
      return a.forward == b.forward && (!a.forward || a.again == b.again);
    };
    while (all.size() > most_nodes_) {
      std::size_t least = all.size();
      for (std::size_t i = 0; i + 1 < all.size(); ++i) {
        if (!fit(all[i], all[i + 1])) continue;
        const auto size = [&](std::size_t at) { return all[at].size + all[at + 1].size; };
        if (least == all.size() || size(i) < size(least)) least = i;
      }
      if (least == all.size()) break;
      all[least].ops.end = all[least + 1].ops.end;
      all[least].size += all[least + 1].size;
      all.erase(iterator_at(all, least) + 1);
    }
    backward_runs_once_ = true;
    result_.ops_of.clear();
    for (const Neighbour& each : all) result_.ops_of.push_back(each.ops);
  }

  void number_ops() {
    node_of_.resize(graph_.ops().size());
    for (int node = 0; node < count_of(result_.ops_of); ++node) {
      for (graph::OpIndex op = result_.ops_of[node].begin; op < result_.ops_of[node].end; ++op)
        node_of_[as_index(op)] = node;
    }
  }

  int writer_node(graph::OpIndex op) const { return op == graph::kBeforeTheStep ? -1 : node_of_[as_index(op)]; }

  // Whether the ops may run again, as far as the node by itself can say.
  bool may_run_again(int node) const {
    const OpRange ops = result_.ops_of[node];
    for (graph::OpIndex op = ops.begin; op < ops.end; ++op) {
      if (!graph::may_repeat(graph_.op(op).kind) || (backward_runs_once_ && !is_forward(op))) return false;
      for (const graph::TensorId id : graph::repeated_form(graph_.op(op)).outputs) {
        const graph::Role role = graph_.tensor(id).role;
        const bool elsewhere = !ops.contains(liveness_.ranges[id].begin);
        if (graph::is_persistent(role) || role == graph::Role::kOutput || elsewhere) return false;
      }
    }
    return true;
  }

  // The first later node that writes into what the node reads or writes; none: the last of all.
  int last_stage(int node) const {
    int last = count_of(result_.ops_of) - 1;
    const OpRange ops = result_.ops_of[node];
    for (graph::OpIndex op = ops.begin; op < ops.end; ++op) {
      const graph::Op again = graph::repeated_form(graph_.op(op));
      for (const graph::TensorId id : graph::distinct_operands(again)) {
        for (const graph::Use& use : liveness_.uses[id]) {
          if (use.writes && use.op >= ops.end) last = std::min(last, node_of_[as_index(use.op)]);
        }
      }
    }
    return last;
  }

  void add_node(int node) {
    RematNode added{.beside = peak_of(node), .last_run = may_run_again(node) ? last_stage(node) : node};
    const OpRange ops = result_.ops_of[node];
    for (graph::OpIndex op = ops.begin; op < ops.end; ++op) added.again += costs_.op_seconds(op);
    result_.problem.nodes.push_back(added);
  }

  // What the node's own tensors take at most while its ops run.
  Bytes peak_of(int node) const {
    const OpRange ops = result_.ops_of[node];
    Bytes peak = 0;
    for (graph::OpIndex op = ops.begin; op < ops.end; ++op) {
      Bytes live = 0;
      for (const graph::TensorId id : made_in(ops)) {
        const OpRange range = liveness_.ranges[id];
        live += range.begin <= op && (op < range.end || range.end > ops.end) ? bytes_of(id) : 0;
      }
      peak = std::max(peak, live);
    }
    return peak;
  }

  std::vector<graph::TensorId> made_in(OpRange ops) const {
    std::vector<graph::TensorId> made;
    for (graph::OpIndex op = ops.begin; op < ops.end; ++op) {
      for (const graph::TensorId id : graph_.op(op).outputs) {
        const bool first = liveness_.ranges[id].begin == op && !graph::is_persistent(graph_.tensor(id).role);
        if (first && graph_.tensor(id).role != graph::Role::kOutput && std::ranges::find(made, id) == made.end()) {
          made.push_back(id);
        }
      }
    }
    return made;
  }

  // Whether the node makes the tensor in its first run alone.
  bool is_made_once(const NodeResult& result) const {
    const OpRange ops = result_.ops_of[result.node];
    for (graph::OpIndex op = ops.begin; op < ops.end; ++op) {
      const std::vector<graph::TensorId> again = graph::repeated_form(graph_.op(op)).outputs;
      if (std::ranges::find(again, result.tensor) != again.end()) return false;
    }
    return true;
  }

  // By what a node has left of a tensor: who reads it.
  std::map<NodeResult, std::vector<int>> readers_of_results() const {
    std::map<NodeResult, std::vector<int>> readers;
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
      const int node = node_of_[as_index(op)];
      for (const OpValue& value : reads_[as_index(op)]) {
        const graph::Role role = graph_.tensor(value.tensor).role;
        const int from = writer_node(value.writer);
        if (from < 0 || from == node || graph::is_persistent(role) || role == graph::Role::kOutput) continue;
        std::vector<int>& nodes = readers[{from, value.tensor}];
        if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
      }
      if (result_.problem.nodes[node].last_run == node) continue;
      const graph::Op& given = graph_.op(op);
      for (const graph::TensorId id : graph::repeated_form(given).inputs) {
        if (std::ranges::find(given.inputs, id) == given.inputs.end()) readers[{node, id}];
      }
    }
    return readers;
  }

  // Results with the same fate are one value.
  void add_values() {
    std::map<std::pair<std::vector<int>, bool>, int> value_of;  // of one node
    int of_node = -1;
    for (auto& [result, readers] : readers_of_results()) {
      if (result.node != of_node) value_of.clear();
      of_node = result.node;
      const bool again = result_.problem.nodes[of_node].last_run > of_node;
      const bool once = is_made_once(result);
      if (again && once) readers.insert(readers.begin(), of_node);
      const auto next = count_of(result_.problem.values);
      const auto [found, is_new] = value_of.try_emplace({readers, once}, next);
      if (is_new) add_value({.node = of_node, .readers = readers, .made_once = once});
      result_.problem.values[found->second].bytes += bytes_of(result.tensor);
    }
  }

  void add_value(RematValue value) {
    const auto index = count_of(result_.problem.values);
    result_.problem.nodes[value.node].makes.push_back(index);
    for (const int reader : value.readers) result_.problem.nodes[reader].reads.push_back(index);
    result_.problem.values.push_back(std::move(value));
  }

  void count_what_is_always_there() {
    for (graph::TensorId id = 0; id < graph_.tensor_count(); ++id) {
      const graph::Role role = graph_.tensor(id).role;
      const bool stays = graph::is_persistent(role) || role == graph::Role::kOutput;
      if (stays && !liveness_.ranges[id].empty()) result_.problem.always += bytes_of(id);
    }
  }

  const graph::Graph& graph_;
  profile::CostModel costs_;
  graph::Liveness liveness_;
  std::vector<std::vector<OpValue>> reads_;  // by op
  std::size_t most_nodes_;
  bool backward_runs_once_ = false;
  std::vector<int> node_of_;  // by op
  GroupedStep result_;
};

}  // namespace

std::vector<graph::OpIndex> GroupedStep::schedule(const RematRuns& runs) const {
  std::vector<graph::OpIndex> order;
  for (int stage = 0; stage < problem.stages(); ++stage) {
    for (int node = 0; node <= stage; ++node) {
      if (!runs[stage][node]) continue;
      for (graph::OpIndex op = ops_of[node].begin; op < ops_of[node].end; ++op) order.push_back(op);
    }
  }
  return order;
}

GroupedStep group_into_nodes(const PlanRequest& request, int most_nodes) {
  return NodeGrouping(request, most_nodes).group();
}

}  // namespace sluice::planners
