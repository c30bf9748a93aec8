#include "sluice/planners/zero_offload/states_on_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sluice/plan/rooms.hpp"

namespace sluice::planners {
namespace {

// Uses with at most so many ops between them are one visit: a way to the file and back takes longer than an update.
constexpr graph::OpIndex kTogether = 8;
// One update's states that are read, one's that are updated and one's that are written.
constexpr int kUpdatesUnderWay = 3;

// A visit ends where the next use is far away, or makes the tensor anew.
bool parts(const graph::Use& use, const graph::Use& next) {
  return next.op - use.op > kTogether || (next.op - use.op > 1 && !next.reads);
}

class StatePlacement {
 public:
  StatePlacement(const graph::Graph& graph, const graph::Liveness& liveness, std::span<const graph::TensorId> states,
                 ReservationTable table, const memory::Link& file)
      : graph_(graph), table_(std::move(table)), file_(file) {
    for (const graph::TensorId id : states) {
      const bool persistent = graph::is_persistent(graph.tensor(id).role);
      states_.push_back({id, host_visits(liveness.uses[id], persistent, graph.op_count())});
      lives_.push_back(persistent ? Interval<graph::OpIndex>{0, graph.op_count()} : liveness.ranges[id]);
    }
  }

  Result<PlacedStates> place() {
    PlacedStates placed;
    keep_what_fits(placed);
    SLUICE_RETURN_IF_ERROR(give_room(placed.on_file));
    return placed;
  }

 private:
  Bytes bytes_of(graph::TensorId id) const { return plan::stored_bytes(graph_.tensor(id)); }

  // What the link takes longer to start than to carry.
  bool is_small(graph::TensorId id) const {
    return static_cast<double>(bytes_of(id)) < file_.latency * file_.bandwidth;
  }
  bool is_state(graph::TensorId id) const { return std::ranges::binary_search(states_, id, {}, &StateOnFile::tensor); }

  Bytes states_of(graph::OpIndex op) const {
    Bytes bytes = 0;
    for (const graph::TensorId id : graph::distinct_operands(graph_.op(op))) bytes += is_state(id) ? bytes_of(id) : 0;
    return bytes;
  }

  // What all states take where each has the least room that it can do with: at the fullest op.
  Bytes least_room() const {
    ReservationTable least(graph_.op_count(), 0);
    for (const StateOnFile& state : states_) {
      for (const HostVisit& visit : state.visits) least.reserve(visit.room, bytes_of(state.tensor));
    }
    Bytes room = 0;
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) room = std::max(room, least.used(op));
    return room;
  }

  Bytes largest_update() const {
    Bytes bytes = 0;
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) bytes = std::max(bytes, states_of(op));
    return bytes;
  }

  void keep_what_fits(PlacedStates& placed) {
    const Bytes least = least_room(), working = std::max(least, kUpdatesUnderWay * largest_update());
    std::vector<std::size_t> order(states_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      return std::pair(!is_small(states_[i].tensor), -states_[i].visits.front().first_use);
    });
    for (const std::size_t i : order) {
      const Bytes bytes = bytes_of(states_[i].tensor);
      if (table_.fits(lives_[i], bytes, is_small(states_[i].tensor) ? least : working)) {
        table_.reserve(lives_[i], bytes);
        placed.in_memory.push_back(states_[i].tensor);
      } else {
        placed.on_file.push_back(states_[i]);
      }
    }
  }

  // In the order of first uses: what is taken early is then never the only room that another visit has.
  Status give_room(std::vector<StateOnFile>& states) {
    struct Asked {
      Bytes bytes;
      graph::OpIndex earliest;
      HostVisit* visit;
    };
    std::vector<Asked> all;
    for (StateOnFile& state : states) {
      graph::OpIndex left = 0;
      for (HostVisit& visit : state.visits) {
        all.push_back({bytes_of(state.tensor), visit.is_read ? left : visit.first_use, &visit});
        left = visit.room.end;
      }
    }
    std::ranges::stable_sort(all, {}, [](const Asked& asked) { return asked.visit->first_use; });
    graph::OpIndex read_before = 0;  // the file is read in the order of uses
    for (const Asked& asked : all) {
      HostVisit& visit = *asked.visit;
      const graph::OpIndex limit = std::max(asked.earliest, visit.is_read ? read_before : 0);
      visit.room.begin = table_.fits_backward(visit.room.end, limit, asked.bytes);
      if (visit.room.begin > visit.first_use) return no_room(visit.first_use);
      if (visit.is_read) read_before = visit.room.begin;
      table_.reserve(visit.room, asked.bytes);
    }
    return {};
  }

  Error no_room(graph::OpIndex op) const {
    return {ErrorCode::kNoneFound,
            fmt::format(
                "{} needs {} of the optimizer's states in the host's memory at one time, beside {} of gradients, of "
                "parameters under way and of other states, of {} that can be counted on: give it more room, or "
                "cut tensors finer (--finer-slices)",
                graph_.op(op).name, format_bytes(states_of(op)), format_bytes(table_.used(op)),
                format_bytes(table_.capacity())),
            states_of(op) + table_.used(op), table_.capacity()};
  }

  const graph::Graph& graph_;
  ReservationTable table_;
  const memory::Link& file_;
  std::vector<StateOnFile> states_;
  std::vector<Interval<graph::OpIndex>> lives_;  // by state
};

}  // namespace

std::vector<HostVisit> host_visits(const std::vector<graph::Use>& uses, bool persistent, graph::OpIndex op_count) {
  std::vector<HostVisit> visits;
  std::vector<bool> changes;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (i == 0 || parts(uses[i - 1], uses[i])) {
      const bool is_read = uses[i].reads && (persistent || i > 0);
      visits.push_back({.room = {}, .first_use = uses[i].op, .last_use = uses[i].op, .is_read = is_read});
      changes.push_back(false);
    }
    visits.back().last_use = uses[i].op;
    if (uses[i].writes) changes.back() = true;
  }
  for (std::size_t i = 0; i < visits.size(); ++i) {
    HostVisit& visit = visits[i];
    visit.is_written = changes[i] && (i + 1 < visits.size() ? visits[i + 1].is_read : persistent);
    const graph::OpIndex end = visit.last_use + (visit.is_written ? 2 : 1);  // written while the next op runs
    visit.room = {visit.first_use, std::min(end, op_count)};
  }
  return visits;
}

Result<PlacedStates> place_states(const graph::Graph& graph, const graph::Liveness& liveness,
                                  std::span<const graph::TensorId> states, ReservationTable occupied,
                                  const memory::Link& file) {
  return StatePlacement(graph, liveness, states, std::move(occupied), file).place();
}

}  // namespace sluice::planners
