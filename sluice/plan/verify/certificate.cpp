#include "sluice/plan/verify/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/plan/verify/payments.hpp"
#include "sluice/plan/verify/rounded_sum.hpp"

namespace sluice {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The least that a byte has paid which is in the fast tier at a use: with a copy in slow memory, or without.
struct Paid {
  double without_copy = kNever;
  double with_copy = kNever;
  double least() const { return std::min(without_copy, with_copy); }
};

class ByteLife {
 public:
  ByteLife(const Payments& payments, const std::vector<Use>& uses, OpIndex op_count, double share)
      : payments_(payments), uses_(uses), op_count_(op_count), share_(share) {}

  // Of what the step makes.
  double made() const { return through(Paid{.without_copy = 0}, 1).least(); }

  // Of a persistent one, wherever its place between steps.
  double persistent() const {
    if (uses_.empty()) return 0;
    const Use& first = uses_.front();
    const OpIndex last = uses_.back().op;
    const Paid begun{.with_copy = first.reads ? payments_.comes(kBeforeFirst, first.op, share_) : 0};
    const Paid slow = through(used(begun, first), 1);
    const double ends_slow = std::min(slow.with_copy, slow.without_copy + payments_.leaves(last, op_count_, share_));
    const Paid fast = through(used(until({.without_copy = 0}, kBeforeFirst, first), first), 1);
    return std::min(ends_slow, next(fast, last, op_count_).least());
  }

 private:
  Paid through(Paid paid, std::size_t first) const {
    for (std::size_t i = first; i < uses_.size(); ++i) {
      paid = used(until(paid, uses_[i - 1].op, uses_[i]), uses_[i]);
    }
    return paid;
  }

  // What is written anew need not be there before.
  Paid until(const Paid& paid, OpIndex from, const Use& use) const {
    return use.reads ? next(paid, from, use.op) : Paid{.without_copy = paid.least()};
  }

  Paid next(const Paid& paid, OpIndex from, OpIndex to) const {
    if (to == from + 1) return paid.without_copy < kNever ? copied_in_stall(paid, to) : paid;
    const double stays = payments_.stays(from, to);
    const double comes = payments_.comes(from, to, share_);
    const double leaves = payments_.leaves(from, to, share_);
    const double is_copied = payments_.is_copied(from, to, share_);
    return {.without_copy = paid.without_copy + stays,
            .with_copy = std::min(paid.with_copy + std::min(stays, comes),
                                  paid.without_copy + std::min(stays + is_copied, leaves + comes))};
  }

  // Between two ops in a row there is nothing but a stall.
  Paid copied_in_stall(const Paid& paid, OpIndex to) const {
    return {.without_copy = paid.without_copy,
            .with_copy = std::min(paid.with_copy, paid.without_copy + payments_.is_copied(to - 1, to, share_))};
  }

  Paid used(const Paid& paid, const Use& use) const {
    if (use.writes) return {.without_copy = paid.least()};
    return {.without_copy = paid.without_copy,
            .with_copy = std::min(paid.with_copy, paid.without_copy + payments_.is_copied_beside(use.op, share_))};
  }

  const Payments& payments_;
  const std::vector<Use>& uses_;
  OpIndex op_count_;
  double share_;
};

bool are_prices_of(const BoundedStep& step, const StepPrices& prices) {
  const std::size_t ops = step.graph.ops().size();
  SLUICE_CHECK(step.op_seconds.size() == ops, "a time for each op");
  const auto sound = [](const SlotPrice& price) { return price[0] >= 0 && price[1] >= 0 && price[0] + price[1] <= 1; };
  const auto is_finite = [](double price) { return price >= 0 && price < kNever; };
  return prices.room.size() == ops && prices.run.size() == ops && prices.stall.size() == ops + 1 &&
         std::ranges::all_of(prices.run, sound) && std::ranges::all_of(prices.stall, sound) &&
         std::ranges::all_of(prices.room, is_finite);
}

}  // namespace

Result<Seconds> certified_seconds(const BoundedStep& step, const StepPrices& prices) {
  if (!are_prices_of(step, prices)) {
    return bad_input("these prices prove nothing: they are of another step, below 0, or above what a slot is worth");
  }
  const Payments payments(step.link, prices);
  const Liveness liveness = analyze_liveness(step.graph);
  const std::size_t ops = prices.room.size();
  const double rent = std::accumulate(prices.room.begin(), prices.room.end(), 0.0);
  RoundedSum bound(2.0 * static_cast<double>(ops + step.graph.tensors().size()) + 16);
  for (std::size_t op = 0; op < ops; ++op) {
    bound.add((1 - prices.run[op][0] - prices.run[op][1]) * step.op_seconds[op]);
    bound.add_magnitude(step.op_seconds[op]);
    bound.add(-prices.room[op] * static_cast<double>(step.fast));
  }
  for (TensorId id = 0; id < step.graph.tensor_count(); ++id) {
    const std::vector<Use>& uses = liveness.uses[id];
    const auto bytes = static_cast<double>(step.graph.tensor(id).bytes);
    const double share = step.moved_share.empty() ? 1 : step.moved_share[as_index(id)];
    const ByteLife life(payments, uses, step.graph.op_count(), share);
    double pays = is_persistent(step.graph.tensor(id).role) ? life.persistent() : uses.empty() ? 0 : life.made();
    for (const Use& use : uses) pays += prices.room[as_index(use.op)];
    bound.add(pays * bytes);
    bound.add_magnitude(rent * bytes);
  }
  if (!std::isfinite(bound.at_least())) return bad_input("these prices prove nothing: they are too large to add up");
  return bound.at_least();
}

}  // namespace sluice
