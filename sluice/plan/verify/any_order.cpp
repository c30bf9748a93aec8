#include "sluice/plan/verify/any_order.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/ops/op_traits.hpp"
#include "sluice/graph/value_numbers.hpp"

namespace sluice::plan {
namespace {

constexpr Seconds kOnlyOnce = std::numeric_limits<Seconds>::infinity();

class Analysis {
 public:
  Analysis(const graph::Graph& graph, std::span<const Seconds> op_seconds)
      : graph_(graph), op_seconds_(op_seconds), values_(graph::number_values(graph)) {}

  AnyOrder run() && {
    find_repeated();
    find_makers();
    find_chain();
    find_windows();
    const graph::Liveness liveness = graph::analyze_liveness(graph_);
    for (const std::vector<graph::TensorId>& tensors : equal_tensors()) add_life(tensors, liveness);
    return std::move(result_);
  }

 private:
  // An op that only repeats another may be left out.
  bool must_run(graph::OpIndex op) const { return !values_.repeats[as_index(op)]; }

  // A batch norm runs before its apply part can.
  void find_repeated() {
    is_repeated_.assign(graph_.ops().size(), false);
    first_run_.assign(op_seconds_.begin(), op_seconds_.end());
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
      const std::optional<graph::OpIndex> of = values_.repeats[as_index(op)];
      if (!of || graph_.op(*of).kind != graph_.op(op).kind) continue;
      is_repeated_[as_index(*of)] = true;
      first_run_[as_index(*of)] = std::min(first_run_[as_index(*of)], op_seconds_[as_index(op)]);
    }
  }

  // By op that must run: those that must have run before.
  void find_makers() {
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
      std::vector<graph::OpIndex>& makers = makers_.emplace_back();
      for (const graph::ValueNumber& value : values_.reads[as_index(op)]) {
        if (value.op != graph::kBeforeTheStep) makers.push_back(value.op);
      }
    }
  }

  // The longest path: of two of the same time the one of more ops, because room is counted as they begin.
  void find_chain() {
    const Seconds all = std::accumulate(op_seconds_.begin(), op_seconds_.end(), Seconds{0});
    const Seconds mean = all / std::max(1, graph_.op_count());
    std::vector<Seconds> longest;
    std::vector<graph::OpIndex> before;
    graph::OpIndex end = -1;
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
      before.push_back(-1);
      longest.push_back(0);
      if (!must_run(op)) continue;
      for (const graph::OpIndex maker : makers_[as_index(op)]) {
        if (before.back() < 0 || longest[as_index(maker)] > longest[as_index(before.back())]) before.back() = maker;
      }
      longest.back() = mean + op_seconds_[as_index(op)] + (before.back() < 0 ? 0 : longest[as_index(before.back())]);
      if (end < 0 || longest.back() > longest[as_index(end)]) end = op;
    }
    for (graph::OpIndex op = end; op >= 0; op = before[as_index(op)])
      result_.chain.push_back({op, first_run_[as_index(op)]});
    std::ranges::reverse(result_.chain);
  }

  void find_windows() {
    const auto ops = graph_.ops().size();
    first_.assign(ops, 0);
    last_.assign(ops, as_id<Epoch>(result_.chain.size()));
    on_chain_.assign(ops, false);
    for (std::size_t k = 0; k < result_.chain.size(); ++k) {
      const std::size_t op = as_index(result_.chain[k].op);
      on_chain_[op] = true;
      first_[op] = last_[op] = as_id<Epoch>(k) + 1;
    }
    for (std::size_t op = 0; op < ops; ++op) {
      if (on_chain_[op]) continue;
      for (const graph::OpIndex maker : makers_[op]) first_[op] = std::max(first_[op], first_[as_index(maker)]);
    }
    for (std::size_t op = ops; op-- > 0;) {
      if (!must_run(as_id<graph::OpIndex>(op))) continue;
      const Epoch last = on_chain_[op] ? last_[op] - 1 : last_[op];
      for (const graph::OpIndex maker : makers_[op]) {
        if (!on_chain_[as_index(maker)]) last_[as_index(maker)] = std::min(last_[as_index(maker)], last);
      }
    }
    for (std::size_t op = 0; op < ops; ++op) {
      const auto index = as_id<graph::OpIndex>(op);
      if (!on_chain_[op] && must_run(index)) result_.floating.push_back({index, first_[op], last_[op], first_run_[op]});
    }
  }

  // Tensors that ever hold an equal value, in groups.
  std::vector<std::vector<graph::TensorId>> equal_tensors() const {
    std::vector<graph::TensorId> group(graph_.tensors().size());
    std::iota(group.begin(), group.end(), 0);
    const auto root = [&](graph::TensorId id) {
      while (group[as_index(id)] != id) id = group[as_index(id)];
      return id;
    };
    std::map<graph::ValueNumber, graph::TensorId> holder;
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) {
      const std::vector<graph::TensorId>& outputs = graph_.op(op).outputs;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (graph::is_persistent(graph_.tensor(outputs[i]).role)) continue;
        const graph::TensorId other = holder.try_emplace(values_.writes[as_index(op)][i], outputs[i]).first->second;
        group[as_index(root(outputs[i]))] = root(other);
      }
    }
    std::vector<std::vector<graph::TensorId>> groups(group.size());
    for (graph::TensorId id = 0; id < graph_.tensor_count(); ++id) groups[as_index(root(id))].push_back(id);
    return groups;
  }

  struct TensorUse : graph::Use {
    Seconds again_seconds = kOnlyOnce;  // of what it reads
  };

  void add_life(const std::vector<graph::TensorId>& tensors, const graph::Liveness& liveness) {
    if (tensors.empty()) return;
    Life life{.tensor = tensors.front(),
              .bytes = graph_.tensor(tensors.front()).bytes,
              .persistent = graph::is_persistent(graph_.tensor(tensors.front()).role),
              .several = tensors.size() > 1};
    std::vector<TensorUse> uses;
    for (const graph::TensorId id : tensors) {
      for (const graph::Use& use : liveness.uses[id]) uses.push_back({use});
      set_again_seconds(id, std::span(uses).last(liveness.uses[id].size()));
    }
    const auto least = std::ranges::min_element(uses, {}, &TensorUse::again_seconds);
    for (TensorUse& use : uses) {
      if (life.several) use.again_seconds = least->again_seconds;  // any of them will do
    }
    std::erase_if(
        uses, [&](const graph::Use& use) { return !must_run(use.op) || is_scratch_of_repeated(use.op, life.tensor); });
    if (uses.empty()) return;
    std::ranges::sort(uses, {}, &graph::Use::op);
    if (uses.front().writes && !uses.front().reads) life.made_from = first_[as_index(uses.front().op)];
    for (const TensorUse& use : uses) add_use(use, life);
    const bool is_there = life.needed_later && !life.needed_later->writes && !life.uses.empty() &&
                          life.needed_later->epoch <= life.uses.back().epoch;
    if (is_there) life.needed_later.reset();
    result_.lives.push_back(std::move(life));
  }

  // Another op may make the values of this one first, with other scratch memory.
  bool is_scratch_of_repeated(graph::OpIndex op, graph::TensorId id) const {
    return graph_.tensor(id).role == graph::Role::kWorkspace && is_repeated_[as_index(op)];
  }

  // Of ops that float one counts: the last to write what is persistent, or the one that may begin last.
  void add_use(const TensorUse& use, Life& life) const {
    const ChainUse needed{first_[as_index(use.op)], use.reads, use.writes, use.again_seconds};
    if (on_chain_[as_index(use.op)]) {
      life.uses.push_back(needed);
      if (life.needed_later && use.writes) life.needed_later->writes = false;
      return;
    }
    const bool overwrites = life.persistent && use.writes;
    const bool is_later = !life.needed_later || (!life.needed_later->writes && needed.epoch > life.needed_later->epoch);
    if (!overwrites && !is_later) return;
    life.needed_later = needed;
    life.needed_later->writes = overwrites;
    // What reads the older value must have run.
    if (overwrites && !life.uses.empty()) life.needed_later->epoch = std::max(needed.epoch, life.uses.back().epoch);
  }

  // A new instance of a tensor is made by all ops that write it before.
  void set_again_seconds(graph::TensorId id, std::span<TensorUse> uses) const {
    if (graph::is_persistent(graph_.tensor(id).role)) return;
    Seconds making = kOnlyOnce;
    for (TensorUse& use : uses) {
      if (use.reads) use.again_seconds = making;
      if (!use.writes) continue;
      if (!use.reads) making = 0;
      making +=
          graph::may_repeat(graph_.op(use.op).kind) ? part_of(use.op, id) * op_seconds_[as_index(use.op)] : kOnlyOnce;
    }
  }

  // What an op takes is shared among all that it makes.
  double part_of(graph::OpIndex op, graph::TensorId id) const {
    Bytes made = 0;
    for (const graph::TensorId output : graph_.op(op).outputs) made += graph_.tensor(output).bytes;
    return made > 0 ? static_cast<double>(graph_.tensor(id).bytes) / static_cast<double>(made) : 0;
  }

  const graph::Graph& graph_;
  std::span<const Seconds> op_seconds_;
  graph::ValueNumbers values_;
  std::vector<Seconds> first_run_;  // of the values that an op makes first
  std::vector<std::vector<graph::OpIndex>> makers_;
  std::vector<Epoch> first_, last_;
  std::vector<bool> on_chain_, is_repeated_;
  AnyOrder result_;
};

}  // namespace

AnyOrder find_any_order(const graph::Graph& graph, std::span<const Seconds> op_seconds) {
  return Analysis(graph, op_seconds).run();
}

}  // namespace sluice::plan
