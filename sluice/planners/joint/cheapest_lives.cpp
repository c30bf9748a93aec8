#include "sluice/planners/joint/cheapest_lives.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "sluice/base/as_index.hpp"

namespace sluice::planners {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

// Uses that find the unit in one place, and what they pay for it.
struct LifeStretch {
  std::optional<std::size_t> gap;  // before it, among the unit's
  graph::OpIndex first = 0;
  graph::OpIndex last = 0;
  bool writes = false;
  bool may_be_slow = false;
  double in_fast = 0;
  double in_slow = 0;
};

enum Place { kFastAlone, kFastWithCopy, kSlow, kPlaces };

using Paid = std::array<double, kPlaces>;

struct Life {
  double pays = kImpossible;
  std::vector<bool> slow;  // by stretch
};

struct Forced {
  std::size_t stretch = 0;
  bool slow = false;
};

class UnitLives {
 public:
  UnitLives(const plan::Payments& payments, std::vector<LifeStretch> stretches, double bytes, bool persistent,
            bool may_leave, graph::OpIndex op_count)
      : payments_(payments),
        stretches_(std::move(stretches)),
        bytes_(bytes),
        persistent_(persistent),
        may_leave_(may_leave),
        op_count_(op_count) {}

  Life cheapest(const std::optional<Forced>& forced) const {
    if (!persistent_) return run({0, kImpossible, 0}, forced, {true, true, true}, false);
    const graph::OpIndex first = stretches_.front().first;
    const Life fast =
        run(moved({0, kImpossible, kImpossible}, plan::kBeforeFirst, first), forced, {true, true, false}, true);
    if (!may_leave_) return fast;
    const Life slow =
        run(moved({kImpossible, kImpossible, 0}, plan::kBeforeFirst, first), forced, {false, false, true}, true);
    return fast.pays <= slow.pays ? fast : slow;
  }

  const std::vector<LifeStretch>& stretches() const { return stretches_; }

 private:
  using Origins = std::array<Place, kPlaces>;

  // What is paid by the next stretch in each place, and from which place that is cheapest.
  Paid moved(const Paid& paid, graph::OpIndex from, graph::OpIndex to, Origins* origins = nullptr) const {
    const double stays = bytes_ * payments_.stays(from, to);
    const double comes = bytes_ * payments_.comes(from, to, 1);
    const double leaves = bytes_ * payments_.leaves(from, to, 1);
    const double is_copied = bytes_ * payments_.is_copied(from, to, 1);
    const std::array<Paid, kPlaces> costs{{{stays, std::min(stays + is_copied, leaves + comes), leaves},
                                           {kImpossible, std::min(stays, comes), 0},
                                           {kImpossible, comes, 0}}};
    Paid next{kImpossible, kImpossible, kImpossible};
    for (int place = 0; place < kPlaces; ++place) {
      for (int before = 0; before < kPlaces; ++before) {
        const double pays = paid[before] + costs[before][place];
        if (pays >= next[place]) continue;
        next[place] = pays;
        if (origins != nullptr) (*origins)[place] = static_cast<Place>(before);
      }
    }
    return next;
  }

  Paid used(const Paid& paid, std::size_t i, const std::optional<Forced>& forced, Origins& origins) const {
    const LifeStretch& stretch = stretches_[i];
    const bool is_forced = forced && forced->stretch == i;
    Paid next{paid[kFastAlone] + stretch.in_fast, paid[kFastWithCopy] + stretch.in_fast, paid[kSlow] + stretch.in_slow};
    if (stretch.writes) {
      if (next[kFastWithCopy] < next[kFastAlone]) origins[kFastAlone] = origins[kFastWithCopy];
      next[kFastAlone] = std::min(next[kFastAlone], next[kFastWithCopy]);
      next[kFastWithCopy] = kImpossible;
    }
    if (!stretch.may_be_slow || (is_forced && !forced->slow)) next[kSlow] = kImpossible;
    if (is_forced && forced->slow) next[kFastAlone] = next[kFastWithCopy] = kImpossible;
    return next;
  }

  // `ends`: where it may be when the step ends, after a last gap if `goes_on`.
  Life run(Paid paid, const std::optional<Forced>& forced, std::array<bool, kPlaces> ends, bool goes_on) const {
    std::vector<Origins> origins(stretches_.size() + 1, {kFastAlone, kFastWithCopy, kSlow});
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      if (i > 0) paid = moved(paid, stretches_[i - 1].last, stretches_[i].first, &origins[i]);
      paid = used(paid, i, forced, origins[i]);
    }
    if (goes_on) paid = moved(paid, stretches_.back().last, op_count_, &origins.back());
    int place = kFastAlone;
    for (int each = 0; each < kPlaces; ++each) {
      if (!ends[each]) paid[each] = kImpossible;
      if (paid[each] < paid[place]) place = each;
    }
    Life life{paid[place], std::vector<bool>(stretches_.size())};
    for (std::size_t i = stretches_.size(); i-- > 0;) {
      place = origins[i + 1][place];
      life.slow[i] = place == kSlow;
    }
    return life;
  }

  const plan::Payments& payments_;
  std::vector<LifeStretch> stretches_;
  double bytes_;
  bool persistent_;
  bool may_leave_;
  graph::OpIndex op_count_;
};

// Where the unit's uses are cut into stretches, and what each pays.
class StretchFinder {
 public:
  StretchFinder(const MovingUnit& unit, std::span<const Gap> gaps, const graph::Liveness& liveness,
                std::span<const std::vector<plan::UseInPlace>> in_place, const plan::Payments& payments,
                double in_place_weight)
      : unit_(unit),
        gaps_(gaps),
        liveness_(liveness),
        in_place_(in_place),
        payments_(payments),
        in_place_weight_(in_place_weight) {}

  std::vector<LifeStretch> run(bool usable) const {
    std::vector<LifeStretch> stretches{{.gap = first_gap()}};
    for (std::size_t i = 0; i < gaps_.size(); ++i) {
      if (!gaps_[i].is_birth() && !gaps_[i].wraps()) stretches.push_back({.gap = i});
    }
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      LifeStretch& stretch = stretches[i];
      stretch.first = i == 0 ? unit_.uses.front().op : gaps_[*stretch.gap].next_use;
      stretch.last = i + 1 == stretches.size() ? unit_.uses.back().op : gaps_[*stretches[i + 1].gap].previous_use;
      stretch.may_be_slow = usable && stretch.gap && gaps_[*stretch.gap].prefetch != Prefetch::kNeeded;
      add_payments(stretch);
    }
    return stretches;
  }

 private:
  std::optional<std::size_t> first_gap() const {
    if (gaps_.front().is_birth()) return 0;
    if (gaps_.back().wraps()) return gaps_.size() - 1;
    return std::nullopt;
  }

  void add_payments(LifeStretch& stretch) const {
    for (const graph::Use& use : unit_.uses) {
      const bool within = use.op >= stretch.first && use.op <= stretch.last;
      stretch.writes = stretch.writes || (within && use.writes);
    }
    const double room = payments_.stays(stretch.first - 1, stretch.last + 1);
    stretch.in_fast = room * static_cast<double>(unit_.moved_bytes);
    for (const graph::TensorId id : unit_.tensors) {
      const std::vector<graph::Use>& uses = liveness_.uses[id];
      for (std::size_t i = 0; i < uses.size() && !in_place_.empty(); ++i) {
        if (uses[i].op < stretch.first || uses[i].op > stretch.last) continue;
        stretch.in_slow += in_place_weight_ * payments_.is_used_in_place(uses[i].op, in_place_[as_index(id)][i]);
      }
    }
  }

  const MovingUnit& unit_;
  std::span<const Gap> gaps_;
  const graph::Liveness& liveness_;
  std::span<const std::vector<plan::UseInPlace>> in_place_;
  const plan::Payments& payments_;
  double in_place_weight_;
};

void add_choices(const UnitLives& lives, std::span<const Gap> gaps, std::vector<InPlaceChoice>& choices) {
  const Life best = lives.cheapest({});
  for (std::size_t i = 0; i < lives.stretches().size(); ++i) {
    const LifeStretch& stretch = lives.stretches()[i];
    if (!stretch.may_be_slow) continue;
    const Life other = lives.cheapest(Forced{i, !best.slow[i]});
    choices.push_back({key_of(gaps[*stretch.gap]), best.slow[i], other.pays - best.pays});
  }
}

}  // namespace

std::vector<InPlaceChoice> cheapest_lives(std::span<const MovingUnit> units, const std::vector<Gap>& gaps,
                                          const graph::Liveness& liveness,
                                          std::span<const std::vector<plan::UseInPlace>> in_place,
                                          const plan::Payments& payments, const std::set<memory::TierId>& usable,
                                          graph::OpIndex op_count, double in_place_weight) {
  std::vector<InPlaceChoice> choices;
  for (auto begin = gaps.begin(); begin != gaps.end();) {
    const auto end = std::find_if(begin, gaps.end(), [&](const Gap& gap) { return gap.unit != begin->unit; });
    const std::span<const Gap> of_unit(begin, end);
    const MovingUnit& unit = units[begin->unit];
    const StretchFinder finder(unit, of_unit, liveness, in_place, payments, in_place_weight);
    const UnitLives lives(payments, finder.run(usable.contains(unit.slow.id)), static_cast<double>(unit.moved_bytes),
                          unit.persistent, of_unit.back().wraps(), op_count);
    add_choices(lives, of_unit, choices);
    begin = end;
  }
  std::ranges::stable_sort(choices, {}, &InPlaceChoice::regret);
  return choices;
}

}  // namespace sluice::planners
