#include "sluice/profile/cache_model.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/access_pattern.hpp"

namespace sluice::profile {
namespace {

bool contains(const std::vector<graph::TensorId>& tensors, graph::TensorId id) {
  return std::ranges::find(tensors, id) != tensors.end();
}

std::vector<CacheUse> uses_of(const graph::Graph& graph, const graph::Liveness& liveness, graph::OpIndex index) {
  std::vector<CacheUse> uses;
  const graph::Op& op = graph.op(index);
  for (const graph::TensorId id : graph::distinct_operands(op)) {
    const graph::AccessPattern pattern = graph::access_pattern(graph, op, id);
    const bool persistent = graph::is_persistent(graph.tensor(id).role);
    const auto& all = liveness.uses[as_index(id)];
    uses.push_back({.tensor = id,
                    .bytes = pattern.touched,
                    .reads = contains(op.inputs, id),
                    .writes = contains(op.outputs, id),
                    .sweeps = pattern.sweeps,
                    .scattered = pattern.scattered,
                    .first = !persistent && all.front().op == index,
                    .last = !persistent && all.back().op == index});
  }
  return uses;
}

}  // namespace

MemoryTraffic& MemoryTraffic::operator+=(const MemoryTraffic& other) {
  read += other.read;
  written += other.written;
  scattered += other.scattered;
  return *this;
}

CacheModel::CacheModel(Bytes capacity, graph::TensorId tensors)
    : capacity_(static_cast<double>(capacity)), by_tensor_(as_index(tensors), entries_.end()) {}

CacheModel::Entry& CacheModel::entry_of(graph::TensorId tensor) {
  const auto index = as_index(tensor);
  if (index >= by_tensor_.size()) by_tensor_.resize(index + 1, entries_.end());
  auto& place = by_tensor_[index];
  if (place == entries_.end()) place = entries_.insert(entries_.begin(), Entry{.tensor = tensor});
  return *place;
}

// A new tensor lies where those that died last lay: their lines are its own, and what was in them is forgotten.
void CacheModel::take_dead_lines(Entry& entry, double bytes) {
  for (Entry& dead : entries_) {
    if (!dead.dead || dead.held <= 0) continue;
    const double taken = std::min(dead.held, bytes - entry.held);
    dead.dirty -= dead.dirty * taken / dead.held;
    dead.held -= taken;
    entry.held += taken;
    if (entry.held >= bytes) return;
  }
}

// Pushes out what is more than `bytes`, dirty and clean lines alike.
void CacheModel::keep(Entry& entry, double bytes) {
  if (entry.held <= bytes) return;
  const double dirty_left = entry.dirty * bytes / entry.held;
  records_[entry.writer].written += entry.dirty - dirty_left;
  entry.dirty = dirty_left;
  entry.held = bytes;
}

// `stays`: of its bytes, in the cache when the op is done.
void CacheModel::use(const CacheUse& use, double stays) {
  const auto bytes = static_cast<double>(use.bytes);
  const std::size_t record = records_.size();
  MemoryTraffic& traffic = records_.emplace_back();
  Entry& entry = entry_of(use.tensor);
  traffic.read = std::max(0.0, bytes - entry.held);
  if (use.reads) traffic.read += (use.sweeps - 1) * (bytes - stays);
  traffic.scattered = traffic.read > 0 ? static_cast<double>(use.scattered) : 0;
  if (use.writes) {
    traffic.written = bytes - stays;
    entry.dirty = stays;
    entry.writer = record;
  } else {
    entry.held = std::max(entry.held, bytes);
    keep(entry, stays);
  }
  entry.held = stays;
}

std::size_t CacheModel::run(std::span<const CacheUse> uses) {
  const std::size_t first = records_.size();
  double bytes = 0;
  double held = 0;
  for (const CacheUse& use : uses) {
    Entry& entry = entry_of(use.tensor);
    if (use.first && use.writes) take_dead_lines(entry, static_cast<double>(use.bytes));
    bytes += static_cast<double>(use.bytes);
    held += entry.held;
  }
  // An op that uses more than the cache holds pushes out its own operands before it comes to them.
  const double found = held > 0 ? std::max(0.0, 1 - std::max(0.0, bytes - capacity_) / held) : 1;
  const double share = bytes > capacity_ ? capacity_ / bytes : 1;
  for (const CacheUse& use : uses) keep(entry_of(use.tensor), entry_of(use.tensor).held * found);
  for (const CacheUse& each : uses) {
    use(each, static_cast<double>(each.bytes) * share);
    auto& place = by_tensor_[as_index(each.tensor)];
    entries_.splice(entries_.begin(), entries_, place);
    if (!each.last) continue;
    place->dead = true;
    place = entries_.end();
  }
  push_out();
  return first;
}

void CacheModel::push_out() {
  double kept = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    keep(*entry, std::max(0.0, capacity_ - kept));
    kept += entry->held;
    if (entry->held > 0) {
      ++entry;
      continue;
    }
    if (!entry->dead) by_tensor_[as_index(entry->tensor)] = entries_.end();
    entry = entries_.erase(entry);
  }
}

OpTraffic::OpTraffic(const graph::Graph& graph, Bytes cache_bytes) {
  constexpr int kSteps = 3;  // one to fill the cache, the one that counts, and one that pushes out what that one wrote
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  CacheModel cache(cache_bytes, graph.tensor_count());
  std::vector<std::size_t> records;
  for (int step = 0; step < kSteps; ++step) {
    for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
      const std::size_t record = cache.run(uses_of(graph, liveness, op));
      if (step == 1) records.push_back(record);
    }
  }
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    first_.push_back(traffic_.size());
    const std::size_t operands = graph::distinct_operands(graph.op(op)).size();
    for (std::size_t i = 0; i < operands; ++i) {
      traffic_.push_back(cache.traffic(records[as_index(op)] + i));
    }
  }
  first_.push_back(traffic_.size());
}

std::span<const MemoryTraffic> OpTraffic::of(graph::OpIndex op) const {
  const auto index = as_index(op);
  return std::span(traffic_).subspan(first_.at(index), first_.at(index + 1) - first_.at(index));
}

MemoryTraffic OpTraffic::in_tier(const graph::Graph& graph, graph::OpIndex op,
                                 std::span<const memory::TierId> operand_tiers, memory::TierId tier) const {
  const graph::Op& instruction = graph.op(op);
  SLUICE_CHECK(operand_tiers.size() == instruction.inputs.size() + instruction.outputs.size(),
               "one tier per operand of " + instruction.name);
  const std::vector<graph::TensorId> distinct = graph::distinct_operands(instruction);
  const std::span<const MemoryTraffic> traffic = of(op);
  MemoryTraffic sum;
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    const auto input = std::ranges::find(instruction.inputs, distinct[i]);
    const auto operand = input != instruction.inputs.end()
                             ? input - instruction.inputs.begin()
                             : std::ssize(instruction.inputs) +
                                   (std::ranges::find(instruction.outputs, distinct[i]) - instruction.outputs.begin());
    if (operand_tiers[as_index(operand)] == tier) sum += traffic[i];
  }
  return sum;
}

}  // namespace sluice::profile
