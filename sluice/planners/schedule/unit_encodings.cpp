#include "sluice/planners/schedule/unit_encodings.hpp"

namespace sluice {

int encode_where_worth(const PlanRequest& request, const CostModel& costs, std::vector<MovingUnit>& units) {
  int encoded = 0;
  for (MovingUnit& unit : units) {
    unit.encoding = Encoding::kNone;
    if (!unit.may_move || unit.persistent || unit.tensors.size() > 1) continue;
    if (request.machine.tier(unit.slow.id).addressable) continue;
    Load load = unit.load();
    load.encoding = own_encoding(request.graph.tensor(load.tensor));
    if (!costs.worth_encoding(unit.slow.outward, unit.slow.inward, load)) continue;
    unit.encoding = load.encoding;
    ++encoded;
  }
  return encoded;
}

}  // namespace sluice
