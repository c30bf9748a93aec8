#include "sluice/sim/time_breakdown.hpp"

#include <algorithm>
#include <set>

#include "sluice/base/as_index.hpp"

namespace sluice::sim {
namespace {

// The union of spans, in order and apart.
std::vector<program::Span> united(std::vector<program::Span> spans) {
  std::ranges::sort(spans, {}, &program::Span::begin);
  std::vector<program::Span> all;
  for (const program::Span& span : spans) {
    if (span.end <= span.begin) continue;
    if (!all.empty() && span.begin <= all.back().end) {
      all.back().end = std::max(all.back().end, span.end);
    } else {
      all.push_back(span);
    }
  }
  return all;
}

// How long both have something, each in order and apart.
Seconds common_seconds(const std::vector<program::Span>& a, const std::vector<program::Span>& b) {
  Seconds common = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    common += std::max(0.0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return common;
}

// Whether what the op waited for last was a transfer.
bool waits_for_transfer(const program::ComputeInstruction& instruction, const program::StepTimes& times) {
  Seconds transfer = -1, other = -1;
  for (const program::TransferIndex each : instruction.waits)
    transfer = std::max(transfer, times.transfers[as_index(each)].end);
  for (const graph::OpIndex each : instruction.op_waits) other = std::max(other, times.ops[as_index(each)].end);
  return transfer >= other;
}

}  // namespace

namespace {

struct NamedPart {
  const char* name;
  Seconds TimeBreakdown::*seconds;
};

constexpr NamedPart kParts[] = {{"computation", &TimeBreakdown::computation},
                                {"recomputation", &TimeBreakdown::recomputation},
                                {"exposed_transfer", &TimeBreakdown::exposed_transfer},
                                {"processor_wait", &TimeBreakdown::processor_wait},
                                {"other", &TimeBreakdown::other},
                                {"overlapped_transfer", &TimeBreakdown::overlapped_transfer}};

}  // namespace

nlohmann::json breakdown_json(const TimeBreakdown& parts) {
  nlohmann::json document = nlohmann::json::object();
  for (const NamedPart& part : kParts) document[part.name] = parts.*part.seconds * 1e3;
  return document;
}

Status read_json(const JsonReader& reader, TimeBreakdown& parts) {
  for (const NamedPart& part : kParts) {
    SLUICE_RETURN_IF_ERROR(reader.read(part.name, parts.*part.seconds));
    parts.*part.seconds /= 1e3;
  }
  return {};
}

std::vector<bool> ops_run_again(const plan::Plan& plan) {
  std::vector<bool> again;
  std::set<graph::OpIndex> ran;
  for (const graph::OpIndex op : plan.schedule) again.push_back(!ran.insert(op).second);
  return again;
}

TimeBreakdown break_down(const program::Program& program, const std::vector<bool>& again,
                         const program::StepTimes& times) {
  TimeBreakdown result;
  std::vector<program::Span> computing;
  Seconds last = 0;  // end of the main processor's last op
  for (const program::ComputeInstruction& instruction : program.compute) {
    if (instruction.processor != kMainProcessor) continue;
    const std::size_t op = as_index(instruction.op);
    const program::Span& span = times.ops[op];
    (!again.empty() && again[op] ? result.recomputation : result.computation) += span.end - span.begin;
    (waits_for_transfer(instruction, times) ? result.exposed_transfer : result.processor_wait) += times.stalls[op];
    computing.push_back(span);
    last = std::max(last, span.end);
  }
  Seconds last_transfer = 0;
  for (const program::Span& span : times.transfers) last_transfer = std::max(last_transfer, span.end);
  const Seconds at_the_end = std::max(0.0, times.step_seconds - last);
  (last_transfer >= last && !times.transfers.empty() ? result.exposed_transfer : result.processor_wait) += at_the_end;
  result.other =
      times.step_seconds - result.computation - result.recomputation - result.exposed_transfer - result.processor_wait;
  result.overlapped_transfer = common_seconds(united(std::move(computing)), united(times.transfers));
  return result;
}

}  // namespace sluice::sim
