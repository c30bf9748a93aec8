#include "sluice/planners/zero_offload/strategy.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"

namespace sluice::planners {
namespace {

constexpr std::size_t index_of(StateNode node) { return as_index(node); }

// By tensor: where a copy in another layout goes behind an update; itself where there is none.
std::vector<graph::TensorId> homes_of_updates(const graph::Graph& graph) {
  std::vector<graph::TensorId> homes(graph.tensors().size());
  std::iota(homes.begin(), homes.end(), 0);
  for (const graph::Op& op : graph.ops()) {
    if (op.kind == graph::OpKind::kReorder && op.phase == graph::Phase::kUpdate)
      homes[as_index(op.inputs[0])] = op.outputs[0];
  }
  return homes;
}

// What the op makes an update's gradient of is a gradient, too.
void go_back_to_passes(const graph::Op& op, std::vector<StateNode>& groups) {
  if (groups[as_index(op.outputs[0])] == StateNode::kGradients) groups[as_index(op.inputs[0])] = StateNode::kGradients;
}

// By tensor: the group it belongs to; kUpdate: none. Sums over batches are the optimizer's, as moments are.
std::vector<StateNode> groups_of(const graph::Graph& graph) {
  std::vector<StateNode> groups(graph.tensors().size(), StateNode::kUpdate);
  const std::vector<graph::TensorId> homes = homes_of_updates(graph);
  const auto counts = [&](const graph::Op& op) { return graph::is_update(op.kind) && has_master(op); };
  const bool mixed = std::ranges::any_of(graph.ops(), counts);
  for (const graph::Op& op : graph.ops()) {
    if (!graph::is_update(op.kind) || (mixed && !graph::has_master(op))) continue;
    const graph::TensorId parameter = graph::has_master(op) ? homes[as_index(op.outputs.back())] : op.inputs[0];
    groups[as_index(op.inputs[0])] = StateNode::kMasters;
    groups[as_index(parameter)] = StateNode::kParameters;
    groups[as_index(op.inputs[1])] = StateNode::kGradients;
    for (std::size_t i = 2; i < 2 + graph::moments_of(op.kind); ++i)
      groups[as_index(op.inputs[i])] = StateNode::kMoments;
  }
  for (const graph::Op& op : graph.ops()) {
    if (op.kind == graph::OpKind::kDelayGradient) go_back_to_passes(op, groups);
  }
  for (const graph::Op& op : graph.ops()) {
    if (op.kind == graph::OpKind::kAccumulateGradient) go_back_to_passes(op, groups);
  }
  for (const graph::Op& op : graph.ops()) {
    if (op.kind == graph::OpKind::kAccumulateGradient) groups[as_index(op.outputs[0])] = StateNode::kMoments;
    if (op.kind == graph::OpKind::kAllGather && groups[as_index(op.inputs[0])] == StateNode::kParameters) {
      groups[as_index(op.outputs[0])] = StateNode::kParameters;
    }
  }
  return groups;
}

// By tensor: a gradient that takes the room of an earlier batch's.
std::vector<bool> of_further_batches(const graph::Graph& graph) {
  std::vector<bool> further(graph.tensors().size(), false);
  std::set<graph::TensorId> in_place;  // sums that lie where the first batch's gradient did
  for (const graph::Op& op : graph.ops()) {
    if (op.kind != graph::OpKind::kAccumulateGradient) continue;
    const bool first = op.inputs.size() == 1;
    if (first && op.inputs == op.outputs) in_place.insert(op.outputs[0]);  // then the second batch's counts
    if (!first && in_place.erase(op.outputs[0]) == 0) further[as_index(op.inputs[0])] = true;
  }
  return further;
}

// Between a parameter and the part of it that a rank updates: nothing that one of the two nodes below sends the other.
bool is_of_parts(const graph::Op& op) {
  return op.kind == graph::OpKind::kOwnPart || op.kind == graph::OpKind::kAllGather;
}

Bytes volume_of(const StateFlow& flow, const Assignment& assignment) {
  Bytes volume = 0;
  for (std::size_t node = 0; node < kStateNodes; ++node) {
    if (assignment.on_host[node]) volume += flow.to_passes[node];
    if (assignment.on_host[node] != assignment.has_on_host(StateNode::kUpdate)) volume += flow.to_update[node];
  }
  return volume;
}

Assignment assignment_of(const StateFlow& flow, unsigned chosen) {
  Assignment assignment;
  for (std::size_t node = 0; node < kStateNodes; ++node) {
    assignment.on_host[node] = (chosen >> node & 1U) != 0;
    if (!assignment.on_host[node]) assignment.device_bytes += flow.bytes[node];
  }
  assignment.volume = volume_of(flow, assignment);
  return assignment;
}

// A group without bytes (masters where parameters are their own) goes with the update: either way is the same.
bool is_canonical(const StateFlow& flow, const Assignment& assignment) {
  for (std::size_t node = 0; node < index_of(StateNode::kUpdate); ++node) {
    if (flow.bytes[node] == 0 && assignment.on_host[node] != assignment.has_on_host(StateNode::kUpdate)) return false;
  }
  return true;
}

}  // namespace

std::string_view to_string(StateNode node) {
  constexpr std::array<std::string_view, kStateNodes> kNames{"parameters", "gradients", "masters", "moments", "update"};
  return kNames.at(index_of(node));
}

StateFlow state_flow(const graph::Graph& graph) {
  StateFlow flow;
  const std::vector<StateNode> groups = groups_of(graph);
  const std::vector<bool> further = of_further_batches(graph);
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const StateNode group = groups[as_index(id)];
    const bool part_of_parameter = group == StateNode::kParameters && !graph::is_persistent(graph.tensor(id).role);
    if (group == StateNode::kUpdate || further[as_index(id)] || part_of_parameter) continue;
    flow.bytes[index_of(group)] += graph.tensor(id).bytes;
  }
  // A tensor crosses once for each batch, pass and direction, however many of its ops use it.
  std::set<std::tuple<graph::TensorId, int, graph::Phase, bool>> flows;
  int batch = 0;
  for (const graph::Op& op : graph.ops()) {
    batch += op.kind == graph::OpKind::kInput ? 1 : 0;
    if (is_of_parts(op)) continue;
    for (const graph::TensorId id : op.inputs) flows.emplace(id, batch, op.phase, false);
    for (const graph::TensorId id : op.outputs) flows.emplace(id, batch, op.phase, true);
  }
  for (const auto& [id, in_batch, phase, written] : flows) {
    const StateNode group = groups[as_index(id)];
    const bool summed_there = group == StateNode::kGradients && phase != graph::Phase::kUpdate && !written;
    if (group == StateNode::kUpdate || summed_there) continue;
    auto& to = phase == graph::Phase::kUpdate ? flow.to_update : flow.to_passes;
    to[index_of(group)] += graph.tensor(id).bytes;
  }
  return flow;
}

std::vector<Assignment> offload_strategies(const StateFlow& flow) {
  std::vector<Assignment> all{assignment_of(flow, 0)};
  Bytes least = std::numeric_limits<Bytes>::max();
  for (unsigned chosen = 1; chosen < 1U << kStateNodes; ++chosen) {
    const Assignment assignment = assignment_of(flow, chosen);
    if (!is_canonical(flow, assignment) || assignment.device_bytes >= all.front().device_bytes) continue;
    if (assignment.volume < least) all.resize(1);
    least = std::min(least, assignment.volume);
    if (assignment.volume == least) all.push_back(assignment);
  }
  std::stable_sort(all.begin() + 1, all.end(),
                   [](const Assignment& a, const Assignment& b) { return a.device_bytes > b.device_bytes; });
  return all;
}

}  // namespace sluice::planners
