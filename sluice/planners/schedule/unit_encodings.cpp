#include "sluice/planners/schedule/unit_encodings.hpp"

namespace sluice {

int encode_where_worth(const PlanRequest& request, const CostModel& costs, const SlowTier& slow,
                       std::vector<MovingUnit>& units) {
  int encoded = 0;
  if (request.machine.tier(slow.id).addressable) return encoded;
  for (MovingUnit& unit : units) {
    if (!unit.may_move || unit.persistent || unit.tensors.size() > 1) continue;
    Load load = unit.load();
    load.encoding = Encoding::kZeroValue;
    const bool worth = allows(request.graph.tensor(load.tensor), load.encoding) &&
                       costs.worth_encoding(slow.outward, slow.inward, load);
    if (!worth) continue;
    unit.encoding = load.encoding;
    ++encoded;
  }
  return encoded;
}

}  // namespace sluice
