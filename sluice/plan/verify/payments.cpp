#include "sluice/plan/verify/payments.hpp"

#include <algorithm>
#include <limits>

#include "sluice/base/as_index.hpp"

namespace sluice::plan {
namespace {

constexpr double kDearest = std::numeric_limits<double>::infinity();

double at(const std::vector<double>& by_slot, graph::OpIndex slot) { return by_slot[as_index(slot)]; }

}  // namespace

Payments::Payments(const TwoWayLink& link, const StepPrices& prices)
    : rent_(prices.room.size() + 1, 0), reading_(prices.reading) {
  reading_.resize(prices.room.size(), 0);
  for (std::size_t op = 0; op < prices.room.size(); ++op) rent_[op + 1] = rent_[op] + prices.room[op];
  const auto pays = [](const SlotPrice& price, const std::array<double, 2>& seconds, double lost) {
    return price[0] * seconds[0] + price[1] * seconds[1] + (1 - price[0] - price[1]) * lost;
  };
  for (const SlotPrice& price : prices.run) {
    in_run_.push_back(pays(price, link.in, link.in_lost));
    out_run_.push_back(pays(price, link.out, link.out_lost));
    second_.push_back(1 - price[0] - price[1]);
  }
  for (const SlotPrice& price : prices.stall) {
    in_stall_.push_back(pays(price, link.in, 0));
    out_stall_.push_back(pays(price, link.out, 0));
  }
}

double Payments::comes(graph::OpIndex from, graph::OpIndex to, double share) const {
  double least = kDearest;
  for (graph::OpIndex slot = from + 1; slot <= to; ++slot) {
    least = std::min(least, share * at(in_stall_, slot) + rent(to) - rent(slot));
    // Room counts when an op begins: while it runs, what comes may take the place of what leaves.
    if (slot < to) least = std::min(least, share * at(in_run_, slot) + rent(to) - rent(slot + 1));
  }
  return least;
}

double Payments::comes_behind_reader(graph::OpIndex reader, graph::OpIndex to, double share) const {
  return std::min(comes(reader, to, share), share * at(in_run_, reader) + stays(reader, to));
}

double Payments::leaves(graph::OpIndex from, graph::OpIndex to, double share) const {
  double least = kDearest;
  for (graph::OpIndex slot = from + 1; slot <= to; ++slot) {
    least = std::min(least, share * at(out_stall_, slot) + rent(slot) - rent(from + 1));
    if (slot < to) least = std::min(least, share * at(out_run_, slot) + rent(slot + 1) - rent(from + 1));
  }
  return least;
}

double Payments::is_copied(graph::OpIndex from, graph::OpIndex to, double share) const {
  double least = kDearest;
  for (graph::OpIndex slot = from + 1; slot <= to; ++slot) {
    least = std::min(least, at(out_stall_, slot));
    if (slot < to) least = std::min(least, at(out_run_, slot));
  }
  return share * least;
}

double Payments::is_copied_beside(graph::OpIndex reader, double share) const { return share * at(out_run_, reader); }

double Payments::is_used_in_place(graph::OpIndex op, const UseInPlace& use) const {
  if (use.reading == kDearest || use.added == kDearest) return kDearest;
  return at(reading_, op) * use.reading + at(second_, op) * use.added;
}

}  // namespace sluice::plan
