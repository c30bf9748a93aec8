#include "sluice/profile/rescheduled_times.hpp"

#include "sluice/base/as_index.hpp"

namespace sluice {
namespace {

template <typename List>
List by_slot(const List& by_op, const std::vector<OpIndex>& op_of) {
  List result;
  if (by_op.empty()) return result;
  for (const OpIndex op : op_of) result.push_back(by_op[as_index(op)]);
  return result;
}

}  // namespace

Profile rescheduled_times(const Profile& profile, const Rescheduled& step) {
  Profile result = profile;
  result.op_seconds = by_slot(profile.op_seconds, step.op_of);
  result.cold_seconds = by_slot(profile.cold_seconds, step.op_of);
  for (auto& times : result.placements) {
    auto copy = std::make_shared<PlacementTimes>(*times);
    copy->index = by_slot(times->index, step.op_of);
    // The apply part has other operands than the op whose times these are.
    for (std::size_t slot = 0; slot < step.op_of.size(); ++slot) {
      const bool other = step.graph.op(static_cast<OpIndex>(slot)).kind == OpKind::kBatchNormApply;
      if (other && !copy->index.empty()) copy->index[slot] = -1;
    }
    times = std::move(copy);
  }
  return result;
}

}  // namespace sluice
