#include "sluice/profile/rescheduled_times.hpp"

#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"

namespace sluice::profile {
namespace {

template <typename List>
List by_slot(const List& by_op, const std::vector<graph::OpIndex>& op_of) {
  List result;
  if (by_op.empty()) return result;
  for (const graph::OpIndex op : op_of) result.push_back(by_op[as_index(op)]);
  return result;
}

// A tensor that is made again has the bytes that it had before.
std::shared_ptr<const EncodingFigures> rescheduled_encodings(const EncodingFigures& figures,
                                                             const graph::Rescheduled& step) {
  auto result = std::make_shared<EncodingFigures>(figures);
  result->encoded_bytes.clear();
  for (const graph::TensorId tensor : step.tensor_of) {
    result->encoded_bytes.push_back(figures.encoded_bytes[as_index(tensor)]);
  }
  return result;
}

// What was measured of each slot's choice, where anybody has; the first one's time where nobody has.
void take_choices(const Profile& given, const graph::Rescheduled& step, Profile& result) {
  for (std::size_t slot = 0; slot < step.choices.size(); ++slot) {
    const auto found = given.choices.find(step.choices[slot]);
    if (found == given.choices.end()) continue;
    const graph::OpIndex op = step.op_of[slot];
    result.op_seconds[slot] = found->second->warm[op];
    if (!found->second->cold.empty() && !result.cold_seconds.empty())
      result.cold_seconds[slot] = found->second->cold[op];
  }
  result.choices.clear();
}

}  // namespace

Profile rescheduled_times(const Profile& profile, const graph::Rescheduled& step) {
  const bool own_order = graph::is_own_order(step.op_of, as_id<graph::OpIndex>(profile.op_seconds.size()));
  if (own_order && step.choices.empty()) return profile;
  Profile result = profile;
  result.op_seconds = by_slot(profile.op_seconds, step.op_of);
  result.cold_seconds = by_slot(profile.cold_seconds, step.op_of);
  if (!step.choices.empty()) take_choices(profile, step, result);
  if (profile.encodings != nullptr) result.encodings = rescheduled_encodings(*profile.encodings, step);
  for (auto& times : result.placements) {
    auto copy = std::make_shared<PlacementTimes>(*times);
    copy->index = by_slot(times->index, step.op_of);
    // The apply part has other operands than the op whose times these are.
    std::map<graph::OpIndex, graph::OpKind> first_kind;
    for (std::size_t slot = 0; slot < copy->index.size(); ++slot) {
      const graph::OpKind kind = step.graph.op(as_id<graph::OpIndex>(slot)).kind;
      const bool applies = first_kind.try_emplace(step.op_of[slot], kind).first->second != kind;
      // Nor has anybody timed another implementation or processor by placement.
      const bool chosen = !step.choices.empty() && step.choices[slot] != graph::OpChoice{};
      if (applies || chosen) copy->index[slot] = -1;
    }
    times = std::move(copy);
  }
  return result;
}

AccessProfile rescheduled_accesses(const AccessProfile& accesses, const graph::Rescheduled& step) {
  AccessProfile result = accesses;
  result.graph_fingerprint = step.graph.fingerprint();
  result.ops.clear();
  for (graph::OpIndex slot = 0; slot < step.graph.op_count(); ++slot) {
    std::vector<TensorTouches>& touches = result.ops.emplace_back();
    for (const graph::TensorId id : graph::distinct_operands(step.graph.op(slot))) {
      for (TensorTouches touch : accesses.ops[step.op_of[as_index(slot)]]) {
        if (touch.tensor != step.tensor_of[as_index(id)]) continue;
        touch.tensor = id;
        touches.push_back(touch);
      }
    }
  }
  return result;
}

}  // namespace sluice::profile
