// A driver for Dtr that holds labels instead of bytes: which value lies where. It checks that every op reads the values
// that the graph's order has it read, from inside the budget, and that nothing writes over what somebody reads later:
// a label that is overwritten, even in part, is gone. It keeps lists of what happened and of what was wrong.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/policies/dtr/dtr.hpp"

namespace sluice::testing {

class CheckedArena final : public policies::DtrDriver {
 public:
  // `costs`: by op of the given graph.
  CheckedArena(const policies::Dtr& dtr, std::vector<Seconds> costs) : dtr_(dtr), costs_(std::move(costs)) {
    for (policies::ValueId id = 0; id < as_id<policies::ValueId>(step().values.size()); ++id) {
      const policies::StepValue& value = step().values[as_index(id)];
      if (value.maker == graph::kBeforeTheStep) write(id, *dtr.offset_of(value.tensor));
    }
    for (const auto* runs : {&step().first, &step().again}) {
      for (const policies::OpRun& run : *runs) {
        if (!run.outputs.empty()) run_of_[run.slot] = &run;
      }
    }
  }

  Result<Seconds> run(graph::OpIndex slot, std::span<const Bytes> operands) override {
    const policies::OpRun& run = *run_of_.at(slot);
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      if (!holds(operands[i], run.inputs[i])) fault("slot {} misses {}", slot, name(run.inputs[i]));
    }
    for (std::size_t i = 0; i < run.outputs.size(); ++i) write(run.outputs[i], operands[run.inputs.size() + i]);
    const graph::OpIndex op = dtr_.kernels().op_of[as_index(slot)];
    events_.push_back(fmt::format("{}{}", step().is_first(slot) ? "" : "again ", op));
    return costs_[as_index(op)];
  }

  Seconds move(Bytes from, Bytes to, Bytes bytes) override {
    const auto [id, end] = labels_.at(from);
    if (end - from != bytes) fault("{} moves with {} bytes", name(id), bytes);
    write(id, to);
    ++moves_;
    return 0.5;
  }

  void evicted(policies::ValueId value) override { events_.push_back("evict " + name(value)); }

  const std::vector<std::string>& events() const { return events_; }
  const std::vector<std::string>& faults() const { return faults_; }
  int moves() const { return moves_; }
  bool holds(Bytes offset, policies::ValueId id) const {
    const auto at = labels_.find(offset);
    return at != labels_.end() && at->second.first == id;
  }

 private:
  const policies::StepValues& step() const { return dtr_.values(); }
  std::string name(policies::ValueId id) const {
    return dtr_.kernels().graph.tensor(step().values[as_index(id)].tensor).name;
  }

  template <typename... Parts>
  void fault(fmt::format_string<Parts...> text, Parts&&... parts) {
    faults_.push_back(fmt::format(text, std::forward<Parts>(parts)...));
  }

  void write(policies::ValueId id, Bytes offset) {
    const Bytes end = offset + step().values[as_index(id)].bytes;
    if (offset < 0 || end > dtr_.budget()) fault("{} lies outside of the budget", name(id));
    std::erase_if(labels_, [&](const auto& label) { return label.first < end && label.second.second > offset; });
    labels_[offset] = {id, end};
  }

  const policies::Dtr& dtr_;
  std::vector<Seconds> costs_;
  std::map<graph::OpIndex, const policies::OpRun*> run_of_;      // by slot
  std::map<Bytes, std::pair<policies::ValueId, Bytes>> labels_;  // by first byte: the value and its end
  std::vector<std::string> events_;
  std::vector<std::string> faults_;
  int moves_ = 0;
};

}  // namespace sluice::testing
