#include "sluice/profile/op_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/summary.hpp"

namespace sluice::profile {
namespace {

constexpr std::size_t kNeighbours = 2;
constexpr double kClose = 0.05;  // logarithms: nearer than that, neighbours count alike

double apart(double a, double b) { return a > 0 && b > 0 ? std::abs(std::log(a / b)) : 0; }

double distance(const OpWork& a, const OpWork& b) { return apart(a.flops, b.flops) + apart(a.bytes, b.bytes); }

// By operations where both have them, else by bytes.
double times_as_much(const OpWork& work, const OpWork& than) {
  if (work.flops > 0 && than.flops > 0) return work.flops / than.flops;
  return than.bytes > 0 ? work.bytes / than.bytes : 1;
}

std::string_view kind_in(std::string_view signature) { return signature.substr(0, signature.find(' ')); }

// Of those, only counts of elements matter.
bool is_dense(graph::OpKind kind) {
  return kind == graph::OpKind::kDense || kind == graph::OpKind::kDenseBackwardData ||
         kind == graph::OpKind::kDenseBackwardWeights;
}

}  // namespace

OpWork work_of(const graph::Graph& graph, const graph::Op& op) {
  OpWork work;
  if (op.views.empty() || is_dense(op.kind)) work.flops = flops(graph, op);
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const graph::TensorId id : *operands) work.bytes += static_cast<double>(graph.tensor(id).bytes);
  }
  return work;
}

OpEstimator::OpEstimator(const memory::Machine& machine, const std::map<std::string, OpMeasurement>& ops) {
  std::vector<Known> all;
  for (const auto& [signature, measured] : ops) {
    if (measured.work.bytes <= 0) continue;
    all.push_back({measured.work, measured.warm.median});
    by_kind_[std::string(kind_in(signature))].push_back(all.back());
  }
  roof_ = roof_of(machine, all);
}

OpEstimator::Roof OpEstimator::roof_of(const memory::Machine& machine, const std::vector<Known>& all) {
  Known computing, moving;
  for (const Known& each : all) {
    Known& sum = each.work.flops > 0 ? computing : moving;
    sum.work.flops += each.work.flops;
    sum.work.bytes += each.work.bytes;
    sum.seconds += each.seconds;
  }
  const BytesPerSecond bandwidth = machine.tier(memory::kFastTier).read_bandwidth;
  Roof roof{kAssumedFlops * machine.threads, bandwidth > 0 ? bandwidth : kAssumedBandwidth};
  if (computing.seconds > 0) roof.flops = computing.work.flops / computing.seconds;
  if (moving.seconds > 0) roof.bandwidth = moving.work.bytes / moving.seconds;
  return roof;
}

Seconds OpEstimator::seconds(graph::OpKind kind, const OpWork& work) const {
  const auto found = by_kind_.find(to_string(kind));
  if (found == by_kind_.end()) {
    return std::max(work.flops / roof_.flops, work.bytes / roof_.bandwidth);
  }
  std::vector<Known> nearest = found->second;
  const std::size_t count = std::min(kNeighbours, nearest.size());
  const auto to_work = [&](const Known& each) { return distance(each.work, work); };
  std::ranges::partial_sort(nearest, iterator_at(nearest, count), {}, to_work);
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double weight = 1 / (kClose + to_work(nearest[i]));
    sum += weight * nearest[i].seconds * times_as_much(work, nearest[i].work);
    weights += weight;
  }
  return sum / weights;
}

namespace {

struct KnownOp {
  Seconds warm = 0, cold = 0;  // cold 0: not known
  bool sound = false, in_steps = false;
};

KnownOp known_op(const graph::Graph& graph, const graph::Op& op, const std::string& signature,
                 const ProfileCache& cache, const OpEstimator& estimator) {
  const std::optional<OpMeasurement> known = cache.find_op(signature);
  if (!known) return {.warm = estimator.seconds(op.kind, work_of(graph, op))};
  return {known->warm.median, known->cold.samples > 0 ? known->cold.median : 0, known->sound(), known->in_steps};
}

}  // namespace

Profile known_profile(const graph::Graph& graph, const memory::Machine& machine, const ProfileCache& cache) {
  const OpEstimator estimator(machine, cache.ops());
  Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  std::set<std::string> distinct;
  Seconds all = 0, estimated = 0;
  for (const graph::Op& op : graph.ops()) {
    const std::string signature = graph::op_signature(graph, op);
    const KnownOp known = known_op(graph, op, signature, cache, estimator);
    profile.op_seconds.push_back(known.warm);
    profile.cold_seconds.push_back(known.cold);
    all += known.warm;
    estimated += known.sound ? 0 : known.warm;
    if (!distinct.insert(signature).second) continue;
    profile.estimated_ops += known.sound ? 0 : 1;
    profile.in_step_ops += known.in_steps ? 1 : 0;
  }
  if (std::ranges::any_of(profile.cold_seconds, [](Seconds cold) { return cold <= 0; })) profile.cold_seconds.clear();
  profile.distinct_ops = count_of(distinct);
  profile.estimated_share = all > 0 ? estimated / all : 0;
  if (profile.estimated_ops == profile.distinct_ops) profile.provenance = memory::Provenance::kGiven;
  profile.placements = known_placements(graph, machine, cache);
  return profile;
}

}  // namespace sluice::profile
