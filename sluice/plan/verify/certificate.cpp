#include "sluice/plan/verify/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/plan/verify/payments.hpp"
#include "sluice/plan/verify/rounded_sum.hpp"

namespace sluice::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The least that a byte has paid, by where the op at a use finds it.
struct Paid {
  double without_copy = kNever;  // in the fast tier
  double with_copy = kNever;     // there, with a copy in slow memory
  double slow = kNever;          // in slow memory alone
  double fast() const { return std::min(without_copy, with_copy); }
  double least() const { return std::min(fast(), slow); }
};

// Of one byte of a tensor; `in_place` by use, or empty.
class ByteLife {
 public:
  ByteLife(const Payments& payments, const std::vector<graph::Use>& uses, std::span<const UseInPlace> in_place,
           Bytes bytes, graph::OpIndex op_count, double share)
      : payments_(payments),
        uses_(uses),
        in_place_(in_place),
        bytes_(static_cast<double>(bytes)),
        op_count_(op_count),
        share_(share) {}

  // Of what the step makes.
  double made() const { return through(used({.without_copy = 0, .slow = 0}, 0)).least(); }

  // Of a persistent one, wherever its place between steps.
  double persistent() const {
    if (uses_.empty()) return 0;
    const graph::OpIndex last = uses_.back().op;
    const Paid from_slow = through(used(until({.slow = 0}, 0), 0));
    const double ends_slow = next(from_slow, last, op_count_, !uses_.back().writes).slow;
    const Paid from_fast = through(used(until({.without_copy = 0}, 0), 0));
    return std::min(ends_slow, next(from_fast, last, op_count_, !uses_.back().writes).fast());
  }

 private:
  Paid through(Paid paid) const {
    for (std::size_t i = 1; i < uses_.size(); ++i) paid = used(until(paid, i), i);
    return paid;
  }

  // What is written anew need not be there before.
  Paid until(const Paid& paid, std::size_t i) const {
    if (!uses_[i].reads) return {.without_copy = paid.least(), .slow = paid.least()};
    return i == 0 ? next(paid, kBeforeFirst, uses_[i].op, false)
                  : next(paid, uses_[i - 1].op, uses_[i].op, !uses_[i - 1].writes);
  }

  // `read`: the op at `from` only read it, and it may come while that reads it in slow memory.
  Paid next(const Paid& paid, graph::OpIndex from, graph::OpIndex to, bool read) const {
    const double stays = payments_.stays(from, to);
    const double comes = payments_.comes(from, to, share_);
    const double leaves = payments_.leaves(from, to, share_);
    const double is_copied = payments_.is_copied(from, to, share_);
    const double comes_behind = read ? payments_.comes_behind_reader(from, to, share_) : comes;
    return {.without_copy = paid.without_copy + stays,
            .with_copy = std::min({paid.with_copy + std::min(stays, comes), paid.slow + comes_behind,
                                   paid.without_copy + std::min(stays + is_copied, leaves + comes)}),
            .slow = std::min({paid.slow, paid.with_copy, paid.without_copy + leaves})};
  }

  Paid used(const Paid& paid, std::size_t i) const {
    const graph::Use& use = uses_[i];
    const double room = payments_.is_used_in_fast(use.op);
    const double slow = in_place_.empty() ? kNever : payments_.is_used_in_place(use.op, in_place_[i]) / bytes_;
    if (use.writes) return {.without_copy = paid.fast() + room, .slow = paid.slow + slow};
    const double copied = payments_.is_copied_beside(use.op, share_);
    return {.without_copy = paid.without_copy + room,
            .with_copy = std::min(paid.with_copy, paid.without_copy + copied) + room,
            .slow = paid.slow + slow};
  }

  const Payments& payments_;
  const std::vector<graph::Use>& uses_;
  std::span<const UseInPlace> in_place_;
  double bytes_;
  graph::OpIndex op_count_;
  double share_;
};

bool are_prices_of(const BoundedStep& step, const StepPrices& prices) {
  const std::size_t ops = step.graph.ops().size();
  SLUICE_CHECK(step.op_seconds.size() == ops, "a time for each op");
  const auto sound = [](const SlotPrice& price) { return price[0] >= 0 && price[1] >= 0 && price[0] + price[1] <= 1; };
  const auto is_finite = [](double price) { return price >= 0 && price < kNever; };
  const auto hides = [&](std::size_t op) {
    return prices.reading[op] >= 0 && prices.reading[op] + prices.run[op][0] + prices.run[op][1] <= 1;
  };
  if (!prices.reading.empty() && prices.reading.size() != ops) return false;
  return prices.room.size() == ops && prices.run.size() == ops && prices.stall.size() == ops + 1 &&
         std::ranges::all_of(prices.run, sound) && std::ranges::all_of(prices.stall, sound) &&
         std::ranges::all_of(prices.room, is_finite) &&
         std::ranges::all_of(std::views::iota(std::size_t{0}, prices.reading.size()), hides);
}

}  // namespace

Result<Seconds> certified_seconds(const BoundedStep& step, const StepPrices& prices) {
  if (!are_prices_of(step, prices)) {
    return bad_input("these prices prove nothing: they are of another step, below 0, or above what a slot is worth");
  }
  SLUICE_CHECK(step.in_place.empty() || step.in_place.size() == step.graph.tensors().size(), "all tensors, or none");
  const Payments payments(step.link, prices);
  const graph::Liveness liveness = graph::analyze_liveness(step.graph);
  const std::size_t ops = prices.room.size();
  const double rent = std::accumulate(prices.room.begin(), prices.room.end(), 0.0);
  RoundedSum bound(2.0 * static_cast<double>(ops + step.graph.tensors().size()) + 16);
  for (std::size_t op = 0; op < ops; ++op) {
    const double reading = prices.reading.empty() ? 0 : prices.reading[op];
    bound.add((1 - prices.run[op][0] - prices.run[op][1] - reading) * step.op_seconds[op]);
    bound.add_magnitude(step.op_seconds[op]);
    bound.add(-prices.room[op] * static_cast<double>(step.fast));
  }
  for (graph::TensorId id = 0; id < step.graph.tensor_count(); ++id) {
    const std::vector<graph::Use>& uses = liveness.uses[id];
    const Bytes bytes = step.graph.tensor(id).bytes;
    if (uses.empty() || bytes == 0) continue;
    const double share = step.moved_share.empty() ? 1 : step.moved_share[as_index(id)];
    std::span<const UseInPlace> in_place;
    if (!step.in_place.empty()) in_place = step.in_place[as_index(id)];
    const ByteLife life(payments, uses, in_place, bytes, step.graph.op_count(), share);
    const double pays = graph::is_persistent(step.graph.tensor(id).role) ? life.persistent() : life.made();
    bound.add(pays * static_cast<double>(bytes));
    bound.add_magnitude(rent * static_cast<double>(bytes));
  }
  if (!std::isfinite(bound.at_least())) return bad_input("these prices prove nothing: they are too large to add up");
  return bound.at_least();
}

}  // namespace sluice::plan
