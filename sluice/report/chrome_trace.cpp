#include "sluice/report/chrome_trace.hpp"

#include <fmt/format.h>

#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/report/run_record.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;

constexpr int kProcess = 1;
constexpr int kComputeLane = 0;
constexpr double kMicroseconds = 1e6;

json lane_name(int lane, const std::string& name) {
  return {{"ph", "M"}, {"pid", kProcess}, {"tid", lane}, {"name", "thread_name"}, {"args", {{"name", name}}}};
}

json span_event(int lane, const std::string& name, const char* category, Seconds begin, Seconds end, json arguments) {
  return {{"ph", "X"},
          {"pid", kProcess},
          {"tid", lane},
          {"name", name},
          {"cat", category},
          {"ts", begin * kMicroseconds},
          {"dur", (end - begin) * kMicroseconds},
          {"args", std::move(arguments)}};
}

class TraceWriter {
 public:
  TraceWriter(const plan::PlanGraph& step, const memory::Machine& machine, const policies::Run& run,
              const program::Program& program)
      : plan_(policies::plan_of(run)),
        graph_(step.graph()),
        machine_(machine),
        program_(program),
        residencies_are_obeyed_(!std::holds_alternative<policies::DtrRun>(run)) {
    events_.push_back(lane_name(kComputeLane, machine.processors.empty() ? "compute" : processor_name(kMainProcessor)));
    for (ProcessorId id = 1; id < as_id<ProcessorId>(machine.processors.size()); ++id) {
      events_.push_back(lane_name(processor_lane(id), processor_name(id)));
    }
    for (std::size_t i = 0; i < machine.links.size(); ++i) {
      const memory::Link& link = machine.links[i];
      const bool imposed = link.throttled || machine.tier(link.from).emulated() || machine.tier(link.to).emulated();
      events_.push_back(lane_name(link_lane(as_id<memory::LinkId>(i)),
                                  fmt::format("{} -> {}{}", machine.tier(link.from).name, machine.tier(link.to).name,
                                              imposed ? " (emulated)" : "")));
    }
  }

  void add_step(const TracedStep& traced, Seconds start) {
    add_ops(traced, start);
    add_transfers(traced, start);
    if (residencies_are_obeyed_) add_counters(traced.trace, start);
  }

  json finish() {
    return {{"traceEvents", std::move(events_)},
            {"displayTimeUnit", "ms"},
            {"otherData",
             {{"model", graph_.name},
              {"planner", plan_.planner},
              {"cpu", machine_.cpu},
              {"emulated", is_emulated(machine_)}}}};
  }

 private:
  static int link_lane(memory::LinkId link) { return link + 1; }

  // Behind those of the links.
  int processor_lane(ProcessorId id) const {
    return id == kMainProcessor ? kComputeLane : link_lane(as_id<memory::LinkId>(machine_.links.size()) + id - 1);
  }

  std::string processor_name(ProcessorId id) const {
    const memory::Processor& each = machine_.processors[as_index(id)];
    return fmt::format("compute on {}{}", each.name, each.emulated ? " (emulated)" : "");
  }

  void add_ops(const TracedStep& traced, Seconds start) {
    for (graph::OpIndex index = 0; index < graph_.op_count(); ++index) {
      const auto at = as_index(index);
      const graph::Op& op = graph_.op(index);
      const program::Span& span = traced.trace.ops[at];
      if (traced.trace.stalls[at] > 0) {
        events_.push_back(span_event(processor_lane(op.processor), "stall", "stall",
                                     start + span.begin - traced.trace.stalls[at], start + span.begin,
                                     {{"before", op.name}}));
      }
      events_.push_back(span_event(processor_lane(op.processor), op.name, "op", start + span.begin, start + span.end,
                                   {{"op", index},
                                    {"kind", to_string(op.kind)},
                                    {"phase", to_string(op.phase)},
                                    {"layer", graph_.layers.at(as_index(op.layer))},
                                    {"step", traced.step}}));
    }
  }

  void add_transfers(const TracedStep& traced, Seconds start) {
    for (std::size_t i = 0; i < program_.transfers.size(); ++i) {
      const program::TransferInstruction& transfer = program_.transfers[i];
      const program::Span& span = traced.trace.transfers[i];
      const bool inward = transfer.to.tier < transfer.from.tier;
      events_.push_back(
          span_event(link_lane(transfer.link),
                     fmt::format("{} {}  {}", inward ? "prefetch" : "evict", graph_.tensor(transfer.tensor).name,
                                 format_bytes(transfer.bytes)),
                     inward ? "prefetch" : "eviction", start + span.begin, start + span.end,
                     {{"bytes", transfer.bytes}, {"after_op", transfer.after_op}, {"step", traced.step}}));
    }
  }

  // Residencies change what a tier holds only at op boundaries.
  void add_counters(const program::StepTimes& trace, Seconds start) {
    std::map<std::pair<memory::TierId, graph::OpIndex>, Bytes> changes;
    const std::vector<plan::Room> rooms = plan::residency_rooms(graph_, plan_);
    for (std::size_t i = 0; i < plan_.residencies.size(); ++i) {
      const plan::Residency& residency = plan_.residencies[i];
      const Bytes bytes = rooms[i].bytes;
      changes[{residency.tier, residency.ops.begin}] += bytes;
      changes[{residency.tier, residency.ops.end}] -= bytes;
    }
    std::vector<Bytes> held(machine_.tiers.size());
    for (const auto& [where, change] : changes) {
      const auto [tier, op] = where;
      Bytes& bytes = held[as_index(tier)];
      bytes += change;
      if (op >= graph_.op_count()) continue;  // the next step begins with the same residencies
      events_.push_back({{"ph", "C"},
                         {"pid", kProcess},
                         {"name", fmt::format("{} MiB", machine_.tier(tier).name)},
                         {"ts", (start + boundary(trace, op)) * kMicroseconds},
                         {"args", {{"held", static_cast<double>(bytes) / static_cast<double>(kMiB)}}}});
    }
  }

  // When room for an interval that begins or ends at `op` changes hands: when the op before it is done.
  static Seconds boundary(const program::StepTimes& trace, graph::OpIndex op) {
    return op <= 0 ? 0 : trace.ops[as_index(op) - 1].end;
  }

  const plan::Plan& plan_;
  const graph::Graph& graph_;
  const memory::Machine& machine_;
  const program::Program& program_;
  bool residencies_are_obeyed_;
  json events_ = json::array();
};

}  // namespace

json chrome_trace(const plan::PlanGraph& step, const memory::Machine& machine, const policies::Run& run,
                  const program::Program& program, std::span<const TracedStep> steps) {
  TraceWriter writer(step, machine, run, program);
  Seconds start = 0;
  for (const TracedStep& traced : steps) {
    writer.add_step(traced, start);
    start += traced.trace.step_seconds;
  }
  return writer.finish();
}

}  // namespace sluice::report
