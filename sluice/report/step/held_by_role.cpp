#include "sluice/report/step/held_by_role.hpp"

#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"

namespace sluice::report {

std::vector<BytesByRole> held_by_role(memory::TierId tier, const graph::Graph& step, const plan::Plan& plan) {
  const std::vector<plan::Room> rooms = plan::residency_rooms(step, plan);
  // What comes before an op runs, less what went behind the op before; then the sums of all that.
  std::vector<BytesByRole> held(step.ops().size() + 1);
  for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
    const plan::Residency& each = plan.residencies[as_id<plan::ResidencyIndex>(i)];
    if (each.tier != tier) continue;
    const auto role = as_index(step.tensor(each.tensor).role);
    held[as_index(each.ops.begin)][role] += rooms[i].bytes;
    held[as_index(each.ops.end)][role] -= rooms[i].bytes;
  }
  for (std::size_t slot = 1; slot < held.size(); ++slot) {
    for (std::size_t role = 0; role < held[slot].size(); ++role) held[slot][role] += held[slot - 1][role];
  }
  held.pop_back();  // the step's end
  return held;
}

Bytes sum_of_roles(const BytesByRole& bytes) { return std::accumulate(bytes.begin(), bytes.end(), Bytes{0}); }

}  // namespace sluice::report
