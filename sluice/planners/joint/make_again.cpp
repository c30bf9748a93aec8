#include "sluice/planners/joint/make_again.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/op_traits.hpp"
#include "sluice/graph/reschedule.hpp"
#include "sluice/plan/verify/payments.hpp"
#include "sluice/plan/verify/same_values.hpp"
#include "sluice/planners/bound/certified_bound.hpp"
#include "sluice/profile/rescheduled_times.hpp"

namespace sluice {
namespace {

constexpr int kPriceRounds = 6;
constexpr int kDeepest = 4;              // tensors made again for one another
constexpr std::size_t kMostWriters = 8;  // slices of one tensor
constexpr Bytes kLeastBytes = 64 * kKiB;
constexpr double kLowerBound = 0.9995;  // of a bound, to be worth another step
constexpr double kPartOfGain = 0.5;     // of what the step loses, that a round may hope to save

// Ops to run again directly before a slot, and what that pays.
struct Making {
  std::vector<OpIndex> slots;
  std::set<TensorId> made;
  std::set<TensorId> read;
  double costs = 0;
};

struct Saving {
  OpIndex before = 0;
  double seconds = 0;
  Making making;
};

class SavingSearch {
 public:
  SavingSearch(const Graph& graph, const CostModel& costs, const TwoWayLink& link, const StepPrices& prices)
      : graph_(graph), costs_(costs), prices_(prices), payments_(link, prices), liveness_(analyze_liveness(graph)) {
    writers_.resize(graph.tensors().size());
    for (OpIndex op = 0; op < graph.op_count(); ++op) {
      for (const TensorId id : graph.op(op).outputs) writers_[as_index(id)].push_back(op);
    }
  }

  std::vector<Saving> find() const {
    std::vector<Saving> found;
    for (TensorId id = 0; id < graph_.tensor_count(); ++id) {
      const Tensor& tensor = graph_.tensor(id);
      if (is_persistent(tensor.role) || tensor.role == Role::kOutput || tensor.bytes < kLeastBytes) continue;
      const std::vector<Use>& uses = liveness_.uses[id];
      for (std::size_t i = 1; i < uses.size(); ++i) {
        if (!uses[i].reads || uses[i].op == uses[i - 1].op + 1) continue;
        const double pays = least(uses[i - 1].op, uses[i].op, false) * static_cast<double>(tensor.bytes);
        if (pays <= 0) continue;
        std::optional<Making> making = made_again(id, uses[i].op, kDeepest);
        if (!making || making->costs >= pays) continue;
        found.push_back({uses[i].op, pays - making->costs, std::move(*making)});
      }
    }
    std::ranges::stable_sort(found, std::ranges::greater{}, &Saving::seconds);
    return found;
  }

 private:
  // The least that a byte pays between two uses.
  double least(OpIndex from, OpIndex to, bool has_copy) const {
    if (to <= from + 1) return 0;
    const double leaves = has_copy ? 0 : payments_.leaves(from, to, 1);
    return std::min(payments_.stays(from, to), leaves + payments_.comes(from, to, 1));
  }

  double room(OpIndex slot) const { return prices_.room[as_index(slot)]; }

  // A second more for this slot's compute, which the links can use as well.
  double second(OpIndex slot) const {
    const SlotPrice& price = prices_.run[as_index(slot)];
    return 1 - price[0] - price[1];
  }

  // All ops that wrote what a use of the tensor at slot `before` finds, from the one that wrote it anew.
  std::vector<OpIndex> writers_of(TensorId id, OpIndex before) const {
    std::vector<OpIndex> found;
    const auto& all = writers_[as_index(id)];
    for (auto it = std::ranges::lower_bound(all, before); it != all.begin();) {
      found.insert(found.begin(), *--it);
      if (std::ranges::find(graph_.op(*it).inputs, id) == graph_.op(*it).inputs.end()) return found;
    }
    return {};
  }

  OpIndex last_write(TensorId id, OpIndex before) const {
    const auto& all = writers_[as_index(id)];
    const auto it = std::ranges::lower_bound(all, before);
    return it == all.begin() ? -1 : *(it - 1);
  }

  std::optional<Making> made_again(TensorId id, OpIndex before, int depth) const {
    const std::vector<OpIndex> writers = writers_of(id, before);
    if (depth == 0 || writers.empty() || writers.size() > kMostWriters) return std::nullopt;
    Making making;
    making.made.insert(id);
    const auto bytes = static_cast<double>(graph_.tensor(id).bytes);
    making.costs += bytes * room(before) * static_cast<double>(writers.size());
    for (const OpIndex writer : writers) {
      if (!may_repeat(graph_.op(writer).kind)) return std::nullopt;
      if (!add_writer(writer, id, before, depth, making)) return std::nullopt;
    }
    return making;
  }

  bool add_writer(OpIndex writer, TensorId id, OpIndex before, int depth, Making& making) const {
    const Op op = repeated_form(graph_.op(writer));
    for (const TensorId input : op.inputs) {
      if (input == id || making.made.contains(input)) continue;
      if (std::ranges::find(op.outputs, input) != op.outputs.end()) return false;
      if (!add_operand(input, writer, before, depth, making)) return false;
    }
    for (const TensorId output : op.outputs) {
      if (output == id) continue;
      making.costs += static_cast<double>(graph_.tensor(output).bytes) * room(before);
      making.made.insert(output);
    }
    making.costs += costs_.op_seconds(writer) * second(before);
    if (std::ranges::find(making.slots, writer) == making.slots.end()) making.slots.push_back(writer);
    return true;
  }

  // That the operand is there, as it was when `writer` ran: it waits or is fetched, or is made again.
  bool add_operand(TensorId id, OpIndex writer, OpIndex before, int depth, Making& making) const {
    if (!making.read.insert(id).second) return true;
    const OpIndex written = last_write(id, before);
    const auto& own = graph_.op(writer).outputs;  // a batch norm's apply part reads what the whole one wrote
    const bool kept = written == writer && std::ranges::find(own, id) != own.end();
    if (written >= writer && !kept) return false;
    const double waits = waiting(id, before) * static_cast<double>(graph_.tensor(id).bytes);
    if (waits <= 0) return true;
    if (!is_persistent(graph_.tensor(id).role)) {
      std::optional<Making> again = made_again(id, before, depth - 1);
      if (again && again->costs < waits && is_apart(*again, making)) {
        making.slots.insert(making.slots.end(), again->slots.begin(), again->slots.end());
        making.made.merge(again->made);
        making.read.merge(again->read);
        making.costs += again->costs;
        return true;
      }
    }
    making.costs += waits;
    return true;
  }

  static bool is_apart(const Making& a, const Making& b) {
    return std::ranges::none_of(a.slots,
                                [&](OpIndex slot) { return std::ranges::find(b.slots, slot) != b.slots.end(); });
  }

  // What a byte pays more when the tensor is also used directly before slot `before`.
  double waiting(TensorId id, OpIndex before) const {
    const std::vector<Use>& uses = liveness_.uses[id];
    const auto next = std::ranges::lower_bound(uses, before, {}, &Use::op);
    const bool wanted_later = next != uses.end() && next->reads;  // what is written anew is not
    if (wanted_later && next->op == before) return 0;
    const bool persistent = is_persistent(graph_.tensor(id).role);
    const OpIndex from = next == uses.begin() ? kBeforeFirst : (next - 1)->op;
    const bool has_copy = persistent && last_write(id, before) == -1;
    if (!wanted_later && !persistent) return least(from, before, has_copy) + room(before);
    const OpIndex to = wanted_later ? next->op : graph_.op_count();
    const double more =
        least(from, before, has_copy) + room(before) + least(before - 1, to, has_copy) - least(from, to, has_copy);
    return std::max(0.0, more);
  }

  const Graph& graph_;
  const CostModel& costs_;
  const StepPrices& prices_;
  Payments payments_;
  Liveness liveness_;
  std::vector<std::vector<OpIndex>> writers_;  // by tensor, ascending
};

// The clearest savings that have nothing to do with one another, up to `most` seconds together.
std::vector<Saving> choose_apart(std::vector<Saving> savings, Seconds most) {
  std::vector<Saving> chosen;
  std::set<TensorId> made, read;
  Seconds saved = 0;
  for (Saving& each : savings) {
    const auto among = [](const std::set<TensorId>& ids) { return [&ids](TensorId id) { return ids.contains(id); }; };
    if (std::ranges::any_of(each.making.made, among(made)) || std::ranges::any_of(each.making.made, among(read)) ||
        std::ranges::any_of(each.making.read, among(made))) {
      continue;
    }
    made.insert(each.making.made.begin(), each.making.made.end());
    read.insert(each.making.read.begin(), each.making.read.end());
    saved += each.seconds;
    chosen.push_back(std::move(each));
    if (saved >= most) break;
  }
  return chosen;
}

struct PricedStep {
  std::vector<OpIndex> schedule;
  Rescheduled step;
  Profile profile;
  Seconds compute = 0;
  CertifiedBound bound;
};

std::optional<PricedStep> priced(const PlanRequest& request, std::vector<OpIndex> schedule) {
  PricedStep result{.schedule = std::move(schedule)};
  result.step = reschedule(request.graph, result.schedule).value();
  if (!check_same_values(request.graph, result.step, 1).empty()) return std::nullopt;
  result.profile = rescheduled_times(request.profile, result.step);
  const CostModel costs(result.step.graph, result.profile, request.machine);
  auto bound = certified_bound(result.step.graph, costs, request.machine, request.budgets, false, kPriceSeconds);
  if (!bound) return std::nullopt;
  result.bound = std::move(*bound);
  result.compute = costs.compute_seconds();
  return result;
}

std::vector<OpIndex> with_savings(const PricedStep& now, const std::vector<Saving>& savings) {
  std::vector<std::vector<OpIndex>> before(now.schedule.size());
  for (const Saving& each : savings) {
    auto& there = before[as_index(each.before)];
    for (const OpIndex slot : each.making.slots) there.push_back(now.step.op_of[as_index(slot)]);
  }
  std::vector<OpIndex> schedule;
  for (std::size_t slot = 0; slot < now.schedule.size(); ++slot) {
    schedule.insert(schedule.end(), before[slot].begin(), before[slot].end());
    schedule.push_back(now.schedule[slot]);
  }
  return schedule;
}

}  // namespace

std::vector<PricedSchedule> make_again(const PlanRequest& request) {
  std::vector<OpIndex> own(request.graph.ops().size());
  std::iota(own.begin(), own.end(), 0);
  std::optional<PricedStep> best = priced(request, own);
  if (!best) return {};
  std::vector<PricedSchedule> found{{best->schedule, best->bound}};
  double part = kPartOfGain;
  for (int round = 0; round < kPriceRounds; ++round) {
    const CostModel costs(best->step.graph, best->profile, request.machine);
    const SavingSearch search(best->step.graph, costs, two_way_link(costs, request.machine), best->bound.prices);
    const std::vector<Saving> chosen = choose_apart(search.find(), part * (best->bound.seconds - best->compute));
    if (chosen.empty()) break;
    std::optional<PricedStep> next = priced(request, with_savings(*best, chosen));
    if (next && next->bound.seconds < kLowerBound * best->bound.seconds) {
      best = std::move(next);
    } else if (part < kPartOfGain) {
      break;
    } else {
      part /= 4;
    }
  }
  if (best->schedule.size() > own.size()) found.push_back({std::move(best->schedule), std::move(best->bound)});
  return found;
}

}  // namespace sluice
