#include "sluice/profile/scale_profile.hpp"

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "sluice/base/as_index.hpp"
#include "sluice/base/id_vector.hpp"
#include "sluice/profile/op_estimate.hpp"

namespace sluice::profile {
namespace {

double operand_bytes(const graph::Graph& graph, const graph::Op& op) { return work_of(graph, op).bytes; }

double work(const graph::Graph& graph, const graph::Op& op) {
  const OpWork work = work_of(graph, op);
  return work.flops > 0 ? work.flops : work.bytes;
}

struct Rate {
  Seconds seconds = 0;
  double work = 0;

  void add(Seconds more, double of) {
    seconds += more;
    work += of;
  }
  std::optional<Seconds> of(double wanted) const {
    if (work <= 0) return std::nullopt;
    return seconds / work * wanted;
  }
};

// Where an op of the graph that was not measured finds its like.
struct Likes {
  std::unordered_map<std::string, graph::OpIndex> by_signature;
  std::map<std::pair<std::string, graph::OpKind>, graph::OpIndex> by_name;

  explicit Likes(const graph::Graph& graph) {
    for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
      const graph::Op& op = graph.op(index);
      by_signature.emplace(graph::op_signature(graph, op), index);
      by_name.emplace(std::pair(op.name, op.kind), index);
    }
  }
};

std::vector<Seconds> scaled_times(const graph::Graph& from, const IdVector<graph::OpIndex, Seconds>& times,
                                  const graph::Graph& to, const Likes& likes,
                                  const IdVector<graph::OpIndex, graph::OpIndex>& same) {
  std::map<graph::OpKind, Rate> of_kind;
  Rate of_bytes;
  for (graph::OpIndex index = 0; index < from.op_count(); ++index) {
    const graph::Op& op = from.op(index);
    const Seconds seconds = times[index];
    of_kind[op.kind].add(seconds, work(from, op));
    of_bytes.add(seconds, operand_bytes(from, op));
  }
  std::vector<Seconds> scaled;
  for (graph::OpIndex index = 0; index < to.op_count(); ++index) {
    const graph::Op& op = to.op(index);
    if (const graph::OpIndex equal = same[index]; equal >= 0) {
      scaled.push_back(times[equal]);
      continue;
    }
    Rate rate = of_kind[op.kind];
    if (const auto named = likes.by_name.find({op.name, op.kind}); named != likes.by_name.end()) {
      const double its_work = work(from, from.op(named->second));
      if (its_work > 0) rate = {times[named->second], its_work};
    }
    const std::optional<Seconds> seconds = rate.of(work(to, op));
    scaled.push_back(seconds ? *seconds : of_bytes.of(operand_bytes(to, op)).value_or(0));
  }
  return scaled;
}

std::shared_ptr<const PlacementTimes> same_placements(const PlacementTimes& times,
                                                      const IdVector<graph::OpIndex, graph::OpIndex>& same) {
  auto result = std::make_shared<PlacementTimes>(times);
  result->index.clear();
  for (const graph::OpIndex equal : same) {
    result->index.push_back(equal < 0 ? -1 : times.index.at(equal));
  }
  return result;
}

}  // namespace

Profile scale_profile(const graph::Graph& from, const Profile& profile, const graph::Graph& to) {
  SLUICE_CHECK(profile.op_seconds.size() == from.ops().size(), "the profile is of another graph than " + from.name);
  const Likes likes(from);
  IdVector<graph::OpIndex, graph::OpIndex> same;  // by OpIndex of `to`: the op of `from` with its signature, or -1
  std::set<std::string> distinct;
  for (const graph::Op& op : to.ops()) {
    const std::string signature = graph::op_signature(to, op);
    const auto found = likes.by_signature.find(signature);
    same.push_back(found == likes.by_signature.end() ? -1 : found->second);
    distinct.insert(signature);
  }
  Profile scaled;
  scaled.graph_fingerprint = to.fingerprint();
  scaled.compute_fingerprint = profile.compute_fingerprint;
  scaled.op_seconds = scaled_times(from, profile.op_seconds, to, likes, same);
  if (!profile.cold_seconds.empty()) scaled.cold_seconds = scaled_times(from, profile.cold_seconds, to, likes, same);
  for (const auto& placement : profile.placements) scaled.placements.push_back(same_placements(*placement, same));
  scaled.distinct_ops = count_of(distinct);
  for (const std::string& signature : distinct) scaled.estimated_ops += likes.by_signature.contains(signature) ? 0 : 1;
  scaled.provenance = memory::Provenance::kGiven;
  return scaled;
}

}  // namespace sluice::profile
