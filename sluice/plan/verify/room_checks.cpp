#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sluice/plan/verify/verifier_checks.hpp"

namespace sluice {
namespace {

class RoomCheck {
 public:
  RoomCheck(const Machine& machine, const Plan& plan, const std::vector<verify::Extent>& extents, const Names& names,
            Findings& findings)
      : machine_(machine), plan_(plan), extents_(extents), names_(names), findings_(findings) {}

  void run() {
    for (std::size_t i = 0; i < plan_.residencies.size(); ++i) check_budget(static_cast<ResidencyIndex>(i));
    check_staging();
    for (std::size_t tier = 0; tier < machine_.tiers.size(); ++tier) check_overlaps(static_cast<TierId>(tier));
    for (std::size_t i = 0; i < plan_.migrations.size(); ++i) check_handover(static_cast<MigrationIndex>(i));
  }

 private:
  const Residency& residency(ResidencyIndex i) const { return plan_.residencies[static_cast<std::size_t>(i)]; }
  const Migration& migration(MigrationIndex i) const { return plan_.migrations[static_cast<std::size_t>(i)]; }
  Interval<Bytes> bytes_of(ResidencyIndex i) const {
    return {residency(i).offset, residency(i).offset + extents_[static_cast<std::size_t>(i)].bytes};
  }
  std::string holder(ResidencyIndex i) const {
    return fmt::format("{} in {}", names_.tensor(residency(i).tensor), names_.residency(i));
  }

  void check_budget(ResidencyIndex i) {
    const Residency& r = residency(i);
    const auto tier = static_cast<std::size_t>(r.tier);
    const Bytes end = bytes_of(i).end;
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
      const auto index = static_cast<ResidencyIndex>(i);
      if (residency(index).tier != kFastTier) continue;
      if (last < 0 || bytes_of(index).end > bytes_of(last).end) last = index;
    }
    const Bytes room = std::min(plan_.budgets.front(), plan_.arena_bytes.front());
    if (staging == 0 || (last < 0 ? 0 : bytes_of(last).end) <= room - staging) return;
    findings_.add(Rule::kWithinBudget, last < 0 ? kStepStart : residency(last).ops.begin,
                  fmt::format("the fast arena's last {} bytes are for encoding; it has {}, and {} ends at byte {}",
                              staging, room, last < 0 ? "nothing" : holder(last), last < 0 ? 0 : bytes_of(last).end));
  }

  // Sweeps over ops. Those in use are disjoint and ordered by offset, so a newcomer can only meet its two neighbours
  // (a newcomer that overlaps is reported and left out).
  void check_overlaps(TierId tier) {
    std::vector<ResidencyIndex> begins;
    for (std::size_t i = 0; i < plan_.residencies.size(); ++i) {
      if (plan_.residencies[i].tier == tier) begins.push_back(static_cast<ResidencyIndex>(i));
    }
    std::vector<ResidencyIndex> ends = begins;
    const auto by_begin = [&](auto a, auto b) { return residency(a).ops.begin < residency(b).ops.begin; };
    const auto by_end = [&](auto a, auto b) { return residency(a).ops.end < residency(b).ops.end; };
    std::stable_sort(begins.begin(), begins.end(), by_begin);
    std::stable_sort(ends.begin(), ends.end(), by_end);

    std::map<Bytes, ResidencyIndex> in_use;
    std::size_t ended = 0;
    for (const ResidencyIndex i : begins) {
      for (; ended < ends.size() && residency(ends[ended]).ops.end <= residency(i).ops.begin; ++ended) {
        const auto found = in_use.find(residency(ends[ended]).offset);
        if (found != in_use.end() && found->second == ends[ended]) in_use.erase(found);
      }
      enter(i, in_use);
    }
  }

  void enter(ResidencyIndex i, std::map<Bytes, ResidencyIndex>& in_use) {
    const Interval<Bytes> bytes = bytes_of(i);
    if (bytes.empty()) return;
    auto next = in_use.lower_bound(bytes.begin);
    if (next != in_use.end() && next->first < bytes.end) return report_overlap(next->second, i);
    if (next != in_use.begin()) {
      const ResidencyIndex previous = std::prev(next)->second;
      if (bytes_of(previous).end > bytes.begin) return report_overlap(previous, i);
    }
    in_use.emplace(bytes.begin, i);
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

  bool takes_room(MigrationIndex taker, ResidencyIndex room, OpIndex at) const {
    const Residency& from = residency(room);
    const Residency& to = residency(migration(taker).to);
    return from.ops.end == at && to.ops.begin == at && from.tier == to.tier &&
           bytes_of(room).overlaps(bytes_of(migration(taker).to));
  }

  void report_handover(Rule rule, MigrationIndex late, ResidencyIndex room, MigrationIndex early) {
    findings_.add(rule, migration(late).issue_after,
                  fmt::format("{} of {} uses the room of {}, which {} of {}, issued before it, takes",
                              names_.migration(late), names_.tensor(migration(late).tensor), names_.residency(room),
                              names_.migration(early), names_.tensor(migration(early).tensor)));
  }

  const Machine& machine_;
  const Plan& plan_;
  const std::vector<verify::Extent>& extents_;  // by ResidencyIndex
  const Names& names_;
  Findings& findings_;
};

}  // namespace

void check_rooms(const Machine& machine, const Plan& plan, const std::vector<verify::Extent>& extents,
                 const Names& names, Findings& findings) {
  RoomCheck(machine, plan, extents, names, findings).run();
}

}  // namespace sluice
