#include "sluice/report/page/timeline_bars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/plan_graph.hpp"
#include "sluice/sim/time_breakdown.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;

enum BarKind : int { kForwardBar, kBackwardBar, kUpdateBar, kAgainBar, kStallBar, kPrefetchBar, kEvictionBar };
constexpr std::array<std::string_view, 7> kBarKinds{"forward", "backward", "update",  "made again",
                                                    "stall",   "prefetch", "eviction"};

struct Bar {
  BarKind kind = kForwardBar;
  program::Span span;
  std::string name;
  std::set<graph::TensorId> tensors;
  Bytes bytes = 0;
  std::string cause;
};

struct Lane {
  std::string name;
  bool emulated = false;
  std::vector<Bar> bars;
};

BarKind kind_of(graph::Phase phase, bool again) {
  if (again) return kAgainBar;
  return phase == graph::Phase::kForward ? kForwardBar : phase == graph::Phase::kBackward ? kBackwardBar : kUpdateBar;
}

class TimelineBars {
 public:
  TimelineBars(const plan::PlanGraph& step, const memory::Machine& machine, const plan::Plan& plan,
               const program::Program& program, const program::StepTimes& times)
      : step_(step), machine_(machine), plan_(plan), program_(program), times_(times) {
    if (machine.processors.empty()) lanes_.push_back({"compute", false, {}});
    for (const memory::Processor& each : machine.processors)
      lanes_.push_back({"compute on " + each.name, each.emulated, {}});
    links_begin_ = lanes_.size();
    for (const memory::Link& link : machine.links) {
      const memory::Tier &from = machine.tier(link.from), &to = machine.tier(link.to);
      lanes_.push_back({from.name + " → " + to.name, link.throttled || from.emulated() || to.emulated(), {}});
    }
    add_ops();
    for (std::size_t i = 0; i < program.transfers.size(); ++i) add_transfer(program.transfers[i], times.transfers[i]);
    for (Lane& lane : lanes_) {
      std::ranges::stable_sort(lane.bars, {}, [](const Bar& bar) { return bar.span.begin; });
    }
    std::erase_if(lanes_, [](const Lane& lane) { return lane.bars.empty(); });
  }

  json document() const {
    json lanes = json::array(), bars = json::object();
    for (const char* column : {"lane", "kind", "begin_ms", "end_ms", "name", "tensors", "bytes", "cause"}) {
      bars[column] = json::array();
    }
    for (const Lane& lane : lanes_) {
      for (const Bar& bar : lane.bars) {
        bars["lane"].push_back(lanes.size());
        bars["kind"].push_back(static_cast<int>(bar.kind));
        bars["begin_ms"].push_back(bar.span.begin * 1e3);
        bars["end_ms"].push_back(bar.span.end * 1e3);
        bars["name"].push_back(bar.name);
        bars["tensors"].push_back(bar.tensors);
        bars["bytes"].push_back(bar.bytes);
        bars["cause"].push_back(bar.cause);
      }
      lanes.push_back({{"name", lane.name}, {"emulated", lane.emulated}});
    }
    return {{"step_ms", times_.step_seconds * 1e3}, {"lanes", lanes}, {"kinds", kBarKinds}, {"bars", bars}};
  }

 private:
  const graph::Graph& graph() const { return step_.graph(); }
  graph::TensorId tensor_of(graph::TensorId id) const {
    return step_.rescheduled() == nullptr ? id : step_.rescheduled()->tensor_of[as_index(id)];
  }

  void add_ops() {
    const std::vector<bool> again = sim::ops_run_again(plan_);
    for (graph::OpIndex slot = 0; slot < graph().op_count(); ++slot) {
      const graph::Op& op = graph().op(slot);
      const program::Span& span = times_.ops[as_index(slot)];
      Lane& lane = lanes_.at(as_index(op.processor));
      if (const Seconds stall = times_.stalls[as_index(slot)]; stall > 0) {
        lane.bars.push_back({kStallBar, {span.begin - stall, span.begin}, "waits", {}, 0, waits_for(slot)});
      }
      Bar bar{kind_of(op.phase, !again.empty() && again[as_index(slot)]), span, op.name, {}, 0, ""};
      for (const graph::TensorId id : op.inputs) bar.tensors.insert(tensor_of(id));
      for (const graph::TensorId id : op.outputs) bar.tensors.insert(tensor_of(id));
      bar.cause = fmt::format("op {}, {}", slot, to_string(op.kind));
      lane.bars.push_back(std::move(bar));
    }
  }

  // "conv2 waits for conv1.y from file": what arrived last of what the op waits for.
  std::string waits_for(graph::OpIndex slot) const {
    const program::ComputeInstruction& op = program_.compute[as_index(slot)];
    Seconds last = -1;
    std::string what = "another processor";
    for (const program::TransferIndex each : op.waits) {
      if (const Seconds end = times_.transfers[as_index(each)].end; end > last) {
        const program::TransferInstruction& transfer = program_.transfers[as_index(each)];
        const bool comes = transfer.to.tier < transfer.from.tier;
        what = fmt::format("{} {} {}", graph().tensor(transfer.tensor).name, comes ? "to come from" : "to leave for",
                           machine_.tier(comes ? transfer.from.tier : transfer.to.tier).name);
        last = end;
      }
    }
    for (const graph::OpIndex each : op.op_waits) {
      if (const Seconds end = times_.ops[as_index(each)].end; end > last) {
        what = graph().op(each).name;
        last = end;
      }
    }
    return fmt::format("{} waits for {}", graph().op(slot).name, what);
  }

  void add_transfer(const program::TransferInstruction& transfer, const program::Span& span) {
    const bool comes = transfer.to.tier < transfer.from.tier;
    Bar bar{comes ? kPrefetchBar : kEvictionBar, span, graph().tensor(transfer.tensor).name, {}, transfer.bytes, ""};
    bar.tensors.insert(tensor_of(transfer.tensor));
    for (const program::TransferPart& part : transfer.others) bar.tensors.insert(tensor_of(part.tensor));
    if (!transfer.others.empty()) bar.name += fmt::format(" and {} more", transfer.others.size());
    bar.cause = why(transfer);
    lanes_[links_begin_ + as_index(transfer.link)].bars.push_back(std::move(bar));
  }

  // As the planner has recorded it.
  std::string why(const program::TransferInstruction& transfer) const {
    for (const plan::Migration& migration : plan_.migrations) {
      const bool same = migration.tensor == transfer.tensor && migration.issue_after == transfer.after_op &&
                        plan_.residencies[migration.to].tier == transfer.to.tier;
      const plan::CauseText* const cause = same ? text_of(migration.cause) : nullptr;
      if (cause != nullptr) return std::string(cause->text);
    }
    return "";
  }

  const plan::PlanGraph& step_;
  const memory::Machine& machine_;
  const plan::Plan& plan_;
  const program::Program& program_;
  const program::StepTimes& times_;
  std::vector<Lane> lanes_;
  std::size_t links_begin_ = 0;
};

}  // namespace

json timeline_json(const plan::PlanGraph& step, const memory::Machine& machine, const plan::Plan& plan,
                   const program::Program& program, const program::StepTimes& times) {
  return TimelineBars(step, machine, plan, program, times).document();
}

}  // namespace sluice::report
