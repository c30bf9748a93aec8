#include "sluice/planners/schedule/unit_encodings.hpp"

namespace sluice::planners {

int encode_where_worth(const PlanRequest& request, const profile::CostModel& costs, std::vector<MovingUnit>& units) {
  int encoded = 0;
  for (MovingUnit& unit : units) {
    unit.encoding = memory::Encoding::kNone;
    if (!unit.may_move || unit.persistent || unit.tensors.size() > 1) continue;
    if (request.machine.tier(unit.slow.id).addressable) continue;
    profile::Load load = unit.load();
    load.encoding = graph::own_encoding(request.graph.tensor(load.tensor));
    if (!costs.worth_encoding(unit.slow.outward, unit.slow.inward, load)) continue;
    unit.encoding = load.encoding;
    ++encoded;
  }
  return encoded;
}

}  // namespace sluice::planners
