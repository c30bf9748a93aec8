#include "sluice/planners/zero_offload/offloaded_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/planners/schedule/pack.hpp"
#include "sluice/planners/schedule/tensor_schedule.hpp"
#include "sluice/planners/zero_offload/states_on_file.hpp"
#include "sluice/profile/cost_model.hpp"

namespace sluice::planners {
namespace {

// A step whose updates are the host's: where each tensor is.
class OffloadedStep {
 public:
  // `capacity`: what to count on of the host's memory, with the file behind it; nothing: all is in that memory.
  OffloadedStep(const PlanRequest& request, const Host& host, std::optional<Bytes> capacity)
      : graph_(request.graph),
        machine_(request.machine),
        host_(host),
        capacity_(capacity),
        costs_(request.graph, request.profile, request.machine),
        liveness_(graph::analyze_liveness(graph_)),
        builder_(graph_, request.machine) {
    Seconds clock = 0;
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
      begins_.push_back(clock);
      clock += on_host(op) ? 0 : costs_.op_seconds(op);
    }
  }

  Result<plan::PlanBuilder> build() && {
    std::vector<graph::TensorId> leaving, states;
    for (graph::TensorId id = 0; id < graph_.tensor_count(); ++id) {
      const std::vector<graph::Use>& uses = liveness_.uses[id];
      const auto here = std::ranges::count_if(uses, [&](const graph::Use& use) { return !on_host(use.op); });
      if (here == std::ssize(uses)) {
        add_tensor_schedule(builder_, graph_, liveness_, id, memory::kFastTier,
                            always_fast(liveness_, id, persistent(id)));
      } else if (here == 0 && capacity_ && is_state(id)) {
        states.push_back(id);
      } else if (here == 0) {
        stay_on_host(id);
      } else {
        leaving.push_back(id);
      }
    }
    std::ranges::stable_sort(leaving, {}, [&](graph::TensorId id) { return last_before(id); });
    for (const graph::TensorId id : leaving) SLUICE_RETURN_IF_ERROR(add_leaving(id));
    if (capacity_) SLUICE_RETURN_IF_ERROR(add_states(states));
    use_in_place();
    return std::move(builder_);
  }

 private:
  bool on_host(graph::OpIndex op) const { return graph_.op(op).processor == host_.processor; }
  bool persistent(graph::TensorId id) const { return graph::is_persistent(graph_.tensor(id).role); }
  Interval<graph::OpIndex> whole_step() const { return {0, graph_.op_count()}; }
  // Of what the host alone uses: what it keeps from step to step, or from one batch's updates to the next's.
  bool is_state(graph::TensorId id) const {
    if (persistent(id) || graph_.tensor(id).role == graph::Role::kOutput) return persistent(id);
    return std::ranges::any_of(host_visits(liveness_.uses[id], false, graph_.op_count()), &HostVisit::is_read);
  }

  const graph::Use& first_on_host(graph::TensorId id) const {
    return *std::ranges::find_if(liveness_.uses[id], [&](const graph::Use& use) { return on_host(use.op); });
  }
  graph::OpIndex last_on_host(graph::TensorId id) const {
    graph::OpIndex last = plan::kStepStart;
    for (const graph::Use& use : liveness_.uses[id]) last = on_host(use.op) ? use.op : last;
    return last;
  }
  // Of the passes: the last op before the host's, and the first one behind them; the step's end where there is none.
  graph::OpIndex last_before(graph::TensorId id) const {
    graph::OpIndex last = plan::kStepStart;
    for (const graph::Use& use : liveness_.uses[id]) last = use.op < first_on_host(id).op ? use.op : last;
    return last;
  }
  graph::OpIndex first_behind(graph::TensorId id) const {
    const auto found =
        std::ranges::find_if(liveness_.uses[id], [&](const graph::Use& use) { return use.op > last_on_host(id); });
    return found == liveness_.uses[id].end() ? graph_.op_count() : found->op;
  }

  // The first op of the passes that begins when the link has carried it, or `latest`.
  graph::OpIndex carried_by(graph::TensorId id, graph::OpIndex after, graph::OpIndex latest) {
    const Bytes bytes = plan::stored_bytes(graph_.tensor(id));
    const Seconds made = after == plan::kStepStart ? 0 : begins_[as_index(after)] + costs_.op_seconds(after);
    link_free_ = std::max(link_free_, made) + costs_.transfer_seconds(host_.tier.outward, bytes);
    const auto begin = begins_.begin() + after + 1, end = begins_.begin() + latest;
    return as_id<graph::OpIndex>(std::lower_bound(begin, end, link_free_) - begins_.begin());
  }

  // It goes to the host once, and comes back once if at all.
  Status check_order(graph::TensorId id) const {
    const bool in_turn = std::ranges::none_of(liveness_.uses[id], [&](const graph::Use& use) {
      return !on_host(use.op) && use.op > first_on_host(id).op && use.op < last_on_host(id);
    });
    if (in_turn) return {};
    return Error{ErrorCode::kUnsupported,
                 fmt::format("zero-offload cannot plan {}: the passes use {} between what the host does with it",
                             graph_.name, graph_.tensor(id).name)};
  }

  // Made by the passes or persistent (a gradient, a parameter), made by the host (a part that other ranks want), or both
  // in turn: on the device but while the host has it, which reads a parameter where there is no master.
  Status add_leaving(graph::TensorId id) {
    SLUICE_RETURN_IF_ERROR(check_order(id));
    const graph::Use& first = first_on_host(id);
    const graph::OpIndex last = last_before(id), updated = last_on_host(id), behind = first_behind(id);
    const graph::OpIndex made = persistent(id) ? 0 : liveness_.ranges[id].begin;
    const graph::OpIndex end = persistent(id) ? graph_.op_count() : liveness_.ranges[id].end;
    const bool was_here = persistent(id) || last != plan::kStepStart;
    const bool comes_back = persistent(id) || behind < graph_.op_count();
    const graph::OpIndex carried = first.reads && was_here ? carried_by(id, last, first.op) : last + 1;
    const graph::OpIndex back =
        std::min(updated + 1, graph_.op_count() - 1);  // the last op's, too, has room before it comes
    const graph::OpIndex there_from = first.reads && was_here ? last + 1 : first.op;
    plan::ResidencyIndex old = 0;  // a parameter's room is nobody's meanwhile
    if (was_here)
      old = builder_.add_residency(id, memory::kFastTier, {made, persistent(id) ? std::max(carried, back) : carried});
    const graph::OpIndex gone =
        capacity_ ? std::min(behind, updated + 2) : behind;  // where room is short, as soon as it may be
    // Else the next update would wait for its room until the device has some for what leaves, behind the passes.
    const graph::OpIndex there_until = !comes_back ? updated + 1 : capacity_ ? gone : graph_.op_count();
    const plan::ResidencyIndex there = builder_.add_residency(id, host_.tier.id, {there_from, there_until});
    if (was_here && first.reads) builder_.add_migration(id, old, there, last, carried, plan::Cause::kForOtherProcessor);
    if (!comes_back) return {};
    const plan::ResidencyIndex next = builder_.add_residency(id, memory::kFastTier, {back, end});
    builder_.add_migration(id, there, next, updated, gone, plan::Cause::kUpdatedElsewhere);
    return {};
  }

  void stay_on_host(graph::TensorId id) {
    builder_.add_residency(id, host_.tier.id, persistent(id) ? whole_step() : liveness_.ranges[id]);
  }

  Status add_states(const std::vector<graph::TensorId>& states) {
    ReservationTable occupied(graph_.op_count(), *capacity_);
    for (const plan::Residency& each : builder_.residencies()) {
      if (each.tier == host_.tier.id) occupied.reserve(each.ops, plan::stored_bytes(graph_.tensor(each.tensor)));
    }
    SLUICE_ASSIGN(const PlacedStates placed,
                  place_states(graph_, liveness_, states, std::move(occupied), machine_.link(host_.file->inward)));
    for (const graph::TensorId id : placed.in_memory) stay_on_host(id);
    for (const StateOnFile& each : placed.on_file) add_on_file(each);
    return {};
  }

  // It has room on file as long as it comes back from there; what lies there is old while the host works with a copy.
  void add_on_file(const StateOnFile& state) {
    const std::vector<HostVisit>& visits = state.visits;
    const auto last_read = std::ranges::find_if(visits.rbegin(), visits.rend(), &HostVisit::is_read);
    const Interval<graph::OpIndex> between{visits.front().last_use + 1,
                                           persistent(state.tensor) ? 0 : last_read->first_use};
    const plan::ResidencyIndex home =
        builder_.add_residency(state.tensor, host_.file->id, persistent(state.tensor) ? whole_step() : between);
    for (const HostVisit& visit : visits) {
      const plan::ResidencyIndex there = builder_.add_residency(state.tensor, host_.tier.id, visit.room);
      if (visit.is_read) {
        builder_.add_migration(state.tensor, home, there, visit.room.begin - 1, visit.first_use,
                               plan::Cause::kAsSoonAsRoom);
      }
      if (visit.is_written) {
        builder_.add_migration(state.tensor, there, home, visit.last_use, visit.room.end, plan::Cause::kStepEnds);
      }
    }
  }

  void use_in_place() {
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
      if (!on_host(op)) continue;
      for (const graph::TensorId id : graph::distinct_operands(graph_.op(op)))
        builder_.set_tensor_tier(op, id, host_.tier.id);
    }
  }

  const graph::Graph& graph_;
  const memory::Machine& machine_;
  Host host_;
  std::optional<Bytes> capacity_;
  profile::CostModel costs_;
  graph::Liveness liveness_;
  plan::PlanBuilder builder_;
  std::vector<Seconds> begins_;  // by op: where the passes are, if nothing makes them wait
  Seconds link_free_ = 0;
};

}  // namespace

Result<plan::Plan> plan_offloaded_step(const PlanRequest& request, const Host& host) {
  SLUICE_ASSIGN(const plan::PlanBuilder in_memory, OffloadedStep(request, host, std::nullopt).build());
  plan::PackingFailure failure;
  Result<plan::Plan> plan = in_memory.finish(request.budgets, &failure);
  if (plan.ok() || failure.tier != host.tier.id || !host.file) return plan;
  Status no_room;
  const auto build = [&](const std::vector<Bytes>& capacities) -> std::optional<plan::PlanBuilder> {
    Result<plan::PlanBuilder> built = OffloadedStep(request, host, capacities[as_index(host.tier.id)]).build();
    if (built.ok()) return std::move(built).value();
    no_room = built.error();
    return std::nullopt;
  };
  Result<PackedPlan> packed = pack_with_less_capacity(request, request.budgets, build);
  if (packed.ok()) return std::move(packed->plan);
  return no_room.ok() ? packed.error() : no_room.error();
}

}  // namespace sluice::planners
