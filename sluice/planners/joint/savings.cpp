#include "sluice/planners/joint/savings.hpp"

#include <algorithm>
#include <functional>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/value_numbers.hpp"

namespace sluice::planners {
namespace {

constexpr int kDeepest = 4;              // tensors made again for one another
constexpr std::size_t kMostWriters = 8;  // slices of one tensor
constexpr Bytes kLeastBytes = 64 * kKiB;

}  // namespace

Seconds compute_without_repetitions(const graph::Graph& graph, const profile::CostModel& costs) {
  Seconds seconds = costs.compute_seconds();
  for (const auto& [op, of] : graph::repetitions(graph)) seconds -= costs.op_seconds(op);
  return seconds;
}

SavingSearch::SavingSearch(const graph::Graph& graph, const profile::CostModel& costs, const plan::TwoWayLink& link,
                           const plan::StepPrices& prices)
    : graph_(graph),
      costs_(costs),
      prices_(prices),
      payments_(link, prices),
      liveness_(graph::analyze_liveness(graph)) {
  writers_.resize(graph.tensors().size());
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    for (const graph::TensorId id : graph.op(op).outputs) writers_[as_index(id)].push_back(op);
  }
}

std::vector<Saving> SavingSearch::makings() const {
  std::vector<Saving> found;
  for (graph::TensorId id = 0; id < graph_.tensor_count(); ++id) {
    const graph::Tensor& tensor = graph_.tensor(id);
    if (graph::is_persistent(tensor.role) || tensor.role == graph::Role::kOutput || tensor.bytes < kLeastBytes)
      continue;
    const std::vector<graph::Use>& uses = liveness_.uses[id];
    for (std::size_t i = 1; i < uses.size(); ++i) {
      if (!uses[i].reads || uses[i].op == uses[i - 1].op + 1) continue;
      const double pays = least(uses[i - 1].op, uses[i].op, false) * static_cast<double>(tensor.bytes);
      if (pays <= 0) continue;
      std::optional<Making> making = rematerialized(id, uses[i].op, kDeepest);
      if (!making || making->costs >= pays) continue;
      found.push_back({pays - making->costs, uses[i].op, std::move(making->slots), std::move(making->made),
                       std::move(making->read)});
    }
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &Saving::seconds);
  return found;
}

std::vector<Saving> SavingSearch::omissions() const {
  std::vector<Saving> found;
  const graph::ValueNumbers values = graph::number_values(graph_);
  for (const auto& [index, of] : graph::repetitions(graph_)) {
    const graph::Op& op = graph_.op(index);
    Saving saving{.seconds = costs_.op_seconds(index) * second(index), .at = index};
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      const graph::ValueNumber& value = values.writes[as_index(index)][k];
      const bool is_workspace = graph_.tensor(op.outputs[k]).role == graph::Role::kWorkspace;
      const graph::TensorId older = is_workspace ? op.outputs[k] : graph_.op(value.op).outputs[value.at];
      saving.seconds += saves_instead(index, op.outputs[k], older);
      saving.made.insert(op.outputs[k]);
      saving.read.insert(older);
    }
    for (const graph::TensorId id : graph::distinct_operands(op)) {
      if (saving.made.contains(id)) continue;
      saving.seconds += extra_use(id, index, index) * static_cast<double>(graph_.tensor(id).bytes);
      saving.read.insert(id);
    }
    if (saving.seconds > 0) found.push_back(std::move(saving));
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &Saving::seconds);
  return found;
}

// What `made` by an op pays until it is read, less what the older tensor pays to be there by then. Below 0, mostly.
double SavingSearch::saves_instead(graph::OpIndex op, graph::TensorId made, graph::TensorId older) const {
  const auto bytes = static_cast<double>(graph_.tensor(made).bytes);
  const std::vector<graph::Use>& uses = liveness_.uses[made];
  const auto reader = std::ranges::upper_bound(uses, op, {}, &graph::Use::op);
  if (reader == uses.end()) return bytes * room(op);
  const std::vector<graph::Use>& others = liveness_.uses[older];
  const auto next = std::ranges::lower_bound(others, reader->op, {}, &graph::Use::op);
  if (next == others.begin() || older == made) return bytes * payments_.stays(op - 1, reader->op);
  return bytes * (payments_.stays(op - 1, reader->op) - least((next - 1)->op, reader->op, false));
}

// The least that a byte pays between two uses.
double SavingSearch::least(graph::OpIndex from, graph::OpIndex to, bool has_copy) const {
  if (to <= from + 1) return 0;
  const double leaves = has_copy ? 0 : payments_.leaves(from, to, 1);
  return std::min(payments_.stays(from, to), leaves + payments_.comes(from, to, 1));
}

double SavingSearch::room(graph::OpIndex slot) const { return prices_.room[as_index(slot)]; }

// A second more for this slot's compute, which the links can use as well.
double SavingSearch::second(graph::OpIndex slot) const {
  const plan::SlotPrice& price = prices_.run[as_index(slot)];
  return 1 - price[0] - price[1];
}

// All ops that wrote what a use of the tensor at slot `before` finds, from the one that wrote it anew.
std::vector<graph::OpIndex> SavingSearch::writers_of(graph::TensorId id, graph::OpIndex before) const {
  std::vector<graph::OpIndex> found;
  const auto& all = writers_[as_index(id)];
  for (auto it = std::ranges::lower_bound(all, before); it != all.begin();) {
    found.insert(found.begin(), *--it);
    if (std::ranges::find(graph_.op(*it).inputs, id) == graph_.op(*it).inputs.end()) return found;
  }
  return {};
}

graph::OpIndex SavingSearch::last_write(graph::TensorId id, graph::OpIndex before) const {
  const auto& all = writers_[as_index(id)];
  const auto it = std::ranges::lower_bound(all, before);
  return it == all.begin() ? -1 : *(it - 1);
}

std::optional<SavingSearch::Making> SavingSearch::rematerialized(graph::TensorId id, graph::OpIndex before,
                                                                 int depth) const {
  const std::vector<graph::OpIndex> writers = writers_of(id, before);
  if (depth == 0 || writers.empty() || writers.size() > kMostWriters) return std::nullopt;
  Making making;
  making.made.insert(id);
  const auto bytes = static_cast<double>(graph_.tensor(id).bytes);
  making.costs += bytes * room(before) * static_cast<double>(writers.size());
  for (const graph::OpIndex writer : writers) {
    if (!graph::may_repeat(graph_.op(writer).kind)) return std::nullopt;
    if (!add_writer(writer, id, before, depth, making)) return std::nullopt;
  }
  return making;
}

bool SavingSearch::add_writer(graph::OpIndex writer, graph::TensorId id, graph::OpIndex before, int depth,
                              Making& making) const {
  const graph::Op op = graph::repeated_form(graph_.op(writer));
  for (const graph::TensorId input : op.inputs) {
    if (input == id || making.made.contains(input)) continue;
    if (std::ranges::find(op.outputs, input) != op.outputs.end()) return false;
    if (!add_operand(input, writer, before, depth, making)) return false;
  }
  for (const graph::TensorId output : op.outputs) {
    if (output == id) continue;
    making.costs += static_cast<double>(graph_.tensor(output).bytes) * room(before);
    making.made.insert(output);
  }
  making.costs += costs_.op_seconds(writer) * second(before);
  if (std::ranges::find(making.slots, writer) == making.slots.end()) making.slots.push_back(writer);
  return true;
}

// That the operand is there, as it was when `writer` ran: it waits or is fetched, or is made again.
bool SavingSearch::add_operand(graph::TensorId id, graph::OpIndex writer, graph::OpIndex before, int depth,
                               Making& making) const {
  if (!making.read.insert(id).second) return true;
  const graph::OpIndex written = last_write(id, before);
  const auto& own = graph_.op(writer).outputs;  // a batch norm's apply part reads what the whole one wrote
  const bool kept = written == writer && std::ranges::find(own, id) != own.end();
  if (written >= writer && !kept) return false;
  const double waits = extra_use(id, before, before - 1) * static_cast<double>(graph_.tensor(id).bytes);
  if (waits <= 0) return true;
  if (!graph::is_persistent(graph_.tensor(id).role)) {
    std::optional<Making> again = rematerialized(id, before, depth - 1);
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

bool SavingSearch::is_apart(const Making& a, const Making& b) {
  return std::ranges::none_of(a.slots,
                              [&](graph::OpIndex slot) { return std::ranges::find(b.slots, slot) != b.slots.end(); });
}

// What a byte pays more when the tensor is also used in this slot. `after`: the last slot before what comes next: the
// slot itself, or where the use is put directly before it, the one before.
double SavingSearch::extra_use(graph::TensorId id, graph::OpIndex slot, graph::OpIndex after) const {
  const std::vector<graph::Use>& uses = liveness_.uses[id];
  const auto next = std::ranges::upper_bound(uses, after, {}, &graph::Use::op);
  const bool wanted_later = next != uses.end() && next->reads;  // what is written anew is not
  if (wanted_later && next->op == slot) return 0;
  const bool persistent = graph::is_persistent(graph_.tensor(id).role);
  const auto last = std::ranges::lower_bound(uses, slot, {}, &graph::Use::op);
  const graph::OpIndex from = last == uses.begin() ? plan::kBeforeFirst : (last - 1)->op;
  const bool has_copy = persistent && last_write(id, slot) == -1;
  if (!wanted_later && !persistent) return least(from, slot, has_copy) + room(slot);
  const graph::OpIndex to = wanted_later ? next->op : graph_.op_count();
  const double more = least(from, slot, has_copy) + room(slot) + least(after, to, has_copy) - least(from, to, has_copy);
  return std::max(0.0, more);
}

// The clearest savings that have nothing to do with one another, up to `most` seconds together.
std::vector<Saving> choose_apart(std::vector<Saving> savings, Seconds most) {
  std::vector<Saving> chosen;
  std::set<graph::TensorId> made, read;
  Seconds saved = 0;
  for (Saving& each : savings) {
    const auto among = [](const std::set<graph::TensorId>& ids) {
      return [&ids](graph::TensorId id) { return ids.contains(id); };
    };
    if (std::ranges::any_of(each.made, among(made)) || std::ranges::any_of(each.made, among(read)) ||
        std::ranges::any_of(each.read, among(made))) {
      continue;
    }
    made.insert(each.made.begin(), each.made.end());
    read.insert(each.read.begin(), each.read.end());
    saved += each.seconds;
    chosen.push_back(std::move(each));
    if (saved >= most) break;
  }
  return chosen;
}

}  // namespace sluice::planners
