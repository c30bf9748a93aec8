#include "sluice/plan/verify/any_order_certificate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/verify/rounded_sum.hpp"

namespace sluice::plan {
namespace {

constexpr double kUnreachable = std::numeric_limits<double>::infinity();

// What a byte pays in each epoch.
struct EpochPrices {
  EpochPrices(const TwoWayLink& link, const StepPrices& prices) : room(prices.room) {
    const auto pays = [](const SlotPrice& price, const std::array<double, 2>& seconds, double lost) {
      return price[0] * seconds[0] + price[1] * seconds[1] + (1 - price[0] - price[1]) * lost;
    };
    for (std::size_t e = 0; e < prices.run.size(); ++e) {
      const SlotPrice& run = prices.run[e];
      const SlotPrice& stall = prices.stall[e + 1];
      in.push_back(std::min(pays(run, link.in, link.in_lost), pays(stall, link.in, 0)));
      out.push_back(std::min(pays(run, link.out, link.out_lost), pays(stall, link.out, 0)));
      second.push_back(1 - run[0] - run[1]);
    }
  }

  const std::vector<double>& room;
  std::vector<double> in, out;
  std::vector<double> second;  // of compute
};

// The least that a byte has paid, by where it is.
struct PaidByte {
  double alone = kUnreachable;   // in the fast tier, with no copy
  double copied = kUnreachable;  // in the fast tier, with a copy in slow memory
  double away = kUnreachable;    // in slow memory alone
  double lost = kUnreachable;    // nowhere

  double there() const { return std::min(alone, copied); }
  double least() const { return std::min(std::min(alone, copied), std::min(away, lost)); }
};

// One byte of a life, epoch by epoch.
class BytePath {
 public:
  BytePath(const EpochPrices& prices, const Life& life, double share)
      : prices_(prices), life_(life), share_(share), end_(as_id<Epoch>(prices.room.size())) {}

  double made() const {
    if (life_.uses.empty()) return 0;  // made, used and gone within an epoch
    const PaidByte paid = walk({});
    return paid.least();
  }

  // Of one that outlives the step: it ends where it began.
  double persistent() const {
    const double fast = walk({.alone = prices_.room.front()}).there();
    const PaidByte slow = walk({.away = 0});
    return std::min({fast, slow.away, slow.copied});
  }

 private:
  // From the step's begin to its end, past every use.
  PaidByte walk(PaidByte paid) const {
    auto next = life_.uses.begin();
    PaidByte served;  // since an op that floats has used it
    for (Epoch epoch = 0; epoch < end_; ++epoch) {
      const bool is_used = next != life_.uses.end() && next->epoch == epoch;
      const ChainUse* use = is_used ? &*next : nullptr;
      if (is_used && !life_.persistent && next == life_.uses.begin() && !use->reads) paid.lost = 0;  // it makes it
      if (epoch > 0) {
        cross(epoch, use, paid);
        cross(epoch, use, served);
      }
      if (is_used) ++next;
      const bool may_be_made = !life_.persistent && next == life_.uses.begin() && epoch >= life_.made_from;
      if (may_be_made) paid.alone = std::min(paid.alone, 0.0);
      within(epoch, again_seconds(next), paid);
      if (!life_.needed_later || epoch < life_.needed_later->epoch) continue;
      used_later(paid, served);
      within(epoch, kUnreachable, served);
    }
    return life_.needed_later ? served : paid;
  }

  // Of what is wanted next.
  Seconds again_seconds(std::vector<ChainUse>::const_iterator next) const {
    if (next != life_.uses.end()) return next->again_seconds;
    return life_.needed_later ? life_.needed_later->again_seconds : kUnreachable;
  }

  // What is in the fast tier when an epoch begins pays for its room; a use wants it there.
  void cross(Epoch epoch, const ChainUse* use, PaidByte& paid) const {
    if (use != nullptr) {
      if (!use->reads) paid.alone = paid.least();  // written anew
      if (use->writes && !life_.several) paid = {.alone = paid.there()};
      if (!use->reads && life_.several) paid.copied = std::min(paid.copied, paid.away);
      paid.away = paid.lost = kUnreachable;
    }
    paid.alone += prices_.room[as_index(epoch)];
    paid.copied += prices_.room[as_index(epoch)];
  }

  // Moves within an epoch take no time in which room is counted.
  void within(Epoch epoch, Seconds again_seconds, PaidByte& paid) const {
    const double in = share_ * prices_.in[as_index(epoch)];
    const double out = share_ * prices_.out[as_index(epoch)];
    const double again = again_seconds < kUnreachable
                             ? again_seconds / static_cast<double>(life_.bytes) * prices_.second[as_index(epoch)]
                             : kUnreachable;
    paid.alone = std::min(paid.alone, paid.copied);
    paid.lost = std::min({paid.lost, paid.alone, paid.away});
    paid.alone = std::min(paid.alone, paid.lost + again);
    paid.copied = std::min({paid.copied, paid.away + std::min(in, again), paid.alone + out});
    paid.away = std::min(paid.away, paid.copied);
    paid.alone = std::min(paid.alone, paid.copied);
    paid.lost = std::min(paid.lost, paid.away);
  }

  void used_later(const PaidByte& paid, PaidByte& served) const {
    if (life_.needed_later->writes) {
      served.alone = std::min(served.alone, paid.there());
    } else {
      served.alone = std::min(served.alone, paid.alone);
      served.copied = std::min(served.copied, paid.copied);
    }
  }

  const EpochPrices& prices_;
  const Life& life_;
  double share_;
  Epoch end_;
};

bool are_prices_by_epoch(const AnyOrder& order, const StepPrices& prices) {
  const auto epochs = as_index(order.epochs());
  const auto sound = [](const SlotPrice& price) { return price[0] >= 0 && price[1] >= 0 && price[0] + price[1] <= 1; };
  const auto is_finite = [](double price) { return price >= 0 && price < kUnreachable; };
  return prices.room.size() == epochs && prices.run.size() == epochs && prices.stall.size() == epochs + 1 &&
         std::ranges::all_of(prices.run, sound) && std::ranges::all_of(prices.stall, sound) &&
         std::ranges::all_of(prices.room, is_finite);
}

}  // namespace

Result<Seconds> certified_any_order_seconds(const BoundedStep& step, const AnyOrder& order, const StepPrices& prices) {
  if (!are_prices_by_epoch(order, prices)) {
    return bad_input("these prices prove nothing: they are of another step, below 0, or above what a slot is worth");
  }
  const EpochPrices epochs(step.link, prices);
  RoundedSum bound(4.0 * static_cast<double>(epochs.room.size() + order.lives.size() + order.floating.size()) + 16);
  for (std::size_t k = 0; k < order.chain.size(); ++k) bound.add(epochs.second[k + 1] * order.chain[k].seconds);
  for (const FloatingOp& op : order.floating) {
    const auto first = epochs.second.begin() + op.first;
    bound.add(*std::min_element(first, first + 1 + (op.last - op.first)) * op.seconds);
  }
  for (const double room : epochs.room) bound.add(-room * static_cast<double>(step.fast));
  const double rent = std::accumulate(epochs.room.begin(), epochs.room.end(), 0.0);
  for (const Life& life : order.lives) {
    const double share = step.moved_share.empty() ? 1 : step.moved_share[as_index(life.tensor)];
    const BytePath path(epochs, life, share);
    const double pays = life.persistent ? path.persistent() : path.made();
    if (pays < kUnreachable) bound.add(pays * static_cast<double>(life.bytes));
    bound.add_magnitude(rent * static_cast<double>(life.bytes));
  }
  if (!std::isfinite(bound.at_least())) return bad_input("these prices prove nothing: they are too large to add up");
  return bound.at_least();
}

}  // namespace sluice::plan
