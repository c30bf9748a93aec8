#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/verify/verifier_checks.hpp"

namespace sluice::plan {
namespace {

class RoomCheck {
 public:
  RoomCheck(const memory::Machine& machine, const Plan& plan, const std::vector<verify::Extent>& extents,
            const Names& names, Findings& findings)
      : machine_(machine), plan_(plan), extents_(extents), names_(names), findings_(findings) {}

  void run() {
    check_arenas();
    if (!find_memory()) return;
    for (std::size_t i = 0; i < plan_.residencies.size(); ++i) check_budget(as_id<ResidencyIndex>(i));
    check_staging();
    for (std::size_t tier = 0; tier < machine_.tiers.size(); ++tier) check_overlaps(as_id<memory::TierId>(tier));
    for (std::size_t i = 0; i < plan_.migrations.size(); ++i) check_handover(as_id<MigrationIndex>(i));
  }

 private:
  const Residency& residency(ResidencyIndex i) const { return plan_.residencies[as_index(i)]; }
  const Migration& migration(MigrationIndex i) const { return plan_.migrations[as_index(i)]; }
  const std::vector<Interval<Bytes>>& memory_of(ResidencyIndex i) const { return memory_[as_index(i)]; }
  Bytes end_of(ResidencyIndex i) const {
    Bytes end = 0;
    for (const Interval<Bytes>& piece : memory_of(i)) end = std::max(end, piece.end);
    return end;
  }
  void check_arenas() {
    for (std::size_t tier = 0; tier < plan_.budgets.size(); ++tier) {
      if (plan_.arena_bytes[tier] <= plan_.budgets[tier]) continue;
      findings_.add(
          Rule::kWithinBudget, kStepStart,
          fmt::format("the arena of {} has {} bytes, and its budget is {}", names_.tier(as_id<memory::TierId>(tier)),
                      plan_.arena_bytes[tier], plan_.budgets[tier]));
    }
  }

  // A plan that is no plan may have each of its residencies in each of its pieces.
  bool find_memory() {
    constexpr std::size_t kMostPieces = 4'000'000;
    std::size_t pieces = 0;
    for (std::size_t i = 0; i < plan_.residencies.size() && pieces <= kMostPieces; ++i) {
      const Residency& r = plan_.residencies[i];
      memory_.push_back(verify::memory_at(plan_, r.tier, {r.offset, r.offset + extents_[i].bytes}));
      pieces += memory_.back().size();
    }
    if (pieces <= kMostPieces) return true;
    findings_.add(Rule::kWellFormed, kStepStart,
                  fmt::format("the memory of its residencies has more than {} pieces", kMostPieces));
    return false;
  }

  std::string holder(ResidencyIndex i) const {
    return fmt::format("{} in {}", names_.tensor(residency(i).tensor), names_.residency(i));
  }

  void check_budget(ResidencyIndex i) {
    const Residency& r = residency(i);
    const auto tier = as_index(r.tier);
    const Bytes end = end_of(i);
    if (end <= plan_.budgets[tier] && end <= plan_.arena_bytes[tier]) return;
    findings_.add(Rule::kWithinBudget, r.ops.begin,
                  fmt::format("{} ends at byte {}; the tier's budget is {} bytes and the plan's arena {}", holder(i),
                              end, plan_.budgets[tier], plan_.arena_bytes[tier]));
  }

  // Named once, by the residency that reaches farthest.
  void check_staging() {
    const Bytes staging = verify::staging(plan_);
    ResidencyIndex last = -1;
    for (std::size_t i = 0; staging > 0 && i < plan_.residencies.size(); ++i) {
      const auto index = as_id<ResidencyIndex>(i);
      if (residency(index).tier != memory::kFastTier) continue;
      if (last < 0 || end_of(index) > end_of(last)) last = index;
    }
    const Bytes room = std::min(plan_.budgets.front(), plan_.arena_bytes.front());
    if (staging == 0 || (last < 0 ? 0 : end_of(last)) <= room - staging) return;
    findings_.add(Rule::kWithinBudget, last < 0 ? kStepStart : residency(last).ops.begin,
                  fmt::format("the fast arena's last {} bytes are for encoding; it has {}, and {} ends at byte {}",
                              staging, room, last < 0 ? "nothing" : holder(last), last < 0 ? 0 : end_of(last)));
  }

  using InUse = std::map<Bytes, std::pair<ResidencyIndex, Bytes>>;  // by first byte: who, and up to which byte

  // Sweeps over ops. Pieces in use are disjoint and ordered by offset, so a newcomer's can only meet their two
  // neighbours (one that overlaps is reported and left out).
  void check_overlaps(memory::TierId tier) {
    std::vector<ResidencyIndex> begins;
    for (std::size_t i = 0; i < plan_.residencies.size(); ++i) {
      if (plan_.residencies[i].tier == tier) begins.push_back(as_id<ResidencyIndex>(i));
    }
    std::vector<ResidencyIndex> ends = begins;
    const auto by_begin = [&](auto a, auto b) { return residency(a).ops.begin < residency(b).ops.begin; };
    const auto by_end = [&](auto a, auto b) { return residency(a).ops.end < residency(b).ops.end; };
    std::stable_sort(begins.begin(), begins.end(), by_begin);
    std::stable_sort(ends.begin(), ends.end(), by_end);

    InUse in_use;
    std::size_t ended = 0;
    for (const ResidencyIndex i : begins) {
      for (; ended < ends.size() && residency(ends[ended]).ops.end <= residency(i).ops.begin; ++ended) {
        for (const Interval<Bytes>& piece : memory_of(ends[ended])) {
          const auto found = in_use.find(piece.begin);
          if (found != in_use.end() && found->second.first == ends[ended]) in_use.erase(found);
        }
      }
      for (const Interval<Bytes>& piece : memory_of(i)) enter(i, piece, in_use);
    }
  }

  void enter(ResidencyIndex i, const Interval<Bytes>& bytes, InUse& in_use) {
    if (bytes.empty()) return;
    auto next = in_use.lower_bound(bytes.begin);
    if (next != in_use.end() && next->first < bytes.end) return report_overlap(next->second.first, i);
    if (next != in_use.begin()) {
      const auto& [previous, end] = std::prev(next)->second;
      if (end > bytes.begin) return report_overlap(previous, i);
    }
    in_use.emplace(bytes.begin, std::pair(i, bytes.end));
  }

  void report_overlap(ResidencyIndex first, ResidencyIndex second) {
    findings_.add(Rule::kNoOverlap, residency(second).ops.begin,
                  fmt::format("{} shares bytes with {}", holder(second), holder(first)));
  }

  // A migration without width gives its rooms away at the op it is issued for. Migrations issued at the same moment
  // may take them, but only behind it in issue order.
  void check_handover(MigrationIndex index) {
    const Migration& m = migration(index);
    if (m.needed_by != m.issue_after + 1) return;
    for (MigrationIndex i = index - 1; i >= 0 && migration(i).issue_after == m.issue_after; --i) {
      if (takes_room(i, m.from, m.needed_by)) report_handover(Rule::kSourceStaysValid, index, m.from, i);
      if (takes_room(i, m.to, m.needed_by)) report_handover(Rule::kNoOverlap, index, m.to, i);
    }
  }

  bool takes_room(MigrationIndex taker, ResidencyIndex room, graph::OpIndex at) const {
    const Residency& from = residency(room);
    const Residency& to = residency(migration(taker).to);
    return from.ops.end == at && to.ops.begin == at && from.tier == to.tier && share_memory(room, migration(taker).to);
  }

  bool share_memory(ResidencyIndex a, ResidencyIndex b) const {
    return std::ranges::any_of(memory_of(a), [&](const Interval<Bytes>& mine) {
      return std::ranges::any_of(memory_of(b), [&](const Interval<Bytes>& other) { return mine.overlaps(other); });
    });
  }

  void report_handover(Rule rule, MigrationIndex late, ResidencyIndex room, MigrationIndex early) {
    findings_.add(rule, migration(late).issue_after,
                  fmt::format("{} of {} uses the room of {}, which {} of {}, issued before it, takes",
                              names_.migration(late), names_.tensor(migration(late).tensor), names_.residency(room),
                              names_.migration(early), names_.tensor(migration(early).tensor)));
  }

  const memory::Machine& machine_;
  const Plan& plan_;
  const std::vector<verify::Extent>& extents_;  // by ResidencyIndex
  const Names& names_;
  Findings& findings_;
  std::vector<std::vector<Interval<Bytes>>> memory_;  // by ResidencyIndex
};

}  // namespace

void check_rooms(const memory::Machine& machine, const Plan& plan, const std::vector<verify::Extent>& extents,
                 const Names& names, Findings& findings) {
  RoomCheck(machine, plan, extents, names, findings).run();
}

}  // namespace sluice::plan
