#include "sluice/sim/locality.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sluice/base/as_index.hpp"

namespace sluice::sim {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 1 : static_cast<double>(part) / static_cast<double>(whole);
}

// One transfer that brings a tensor to a place in the fast tier.
struct Fill {
  Bytes offset = 0;
  program::TransferIndex transfer = 0;
};

// By TensorId, in plan order.
std::vector<std::vector<Fill>> find_fills(const graph::Graph& graph, const program::Program& program) {
  std::vector<std::vector<Fill>> fills(graph.tensors().size());
  for (std::size_t i = 0; i < program.transfers.size(); ++i) {
    const program::TransferInstruction& transfer = program.transfers[i];
    if (transfer.to.tier != memory::kFastTier) continue;
    const auto index = as_id<program::TransferIndex>(i);
    fills[as_index(transfer.tensor)].push_back({transfer.to.offset, index});
    for (const program::TransferPart& part : transfer.others) {
      fills[as_index(part.tensor)].push_back({transfer.to.offset + part.offset, index});
    }
  }
  return fills;
}

// Whether the last transfer that brought the tensor to `place` before `op`, if any did, had ended by `now`.
bool is_there(const std::vector<Fill>& fills, const program::Program& program, const program::Location& place,
              graph::OpIndex op, Seconds now, const std::vector<Seconds>& transfer_ends) {
  if (place.tier != memory::kFastTier) return false;
  const auto fill = std::find_if(fills.rbegin(), fills.rend(), [&](const Fill& each) {
    return each.offset == place.offset && program.transfers[as_index(each.transfer)].after_op < op;
  });
  return fill == fills.rend() || transfer_ends[as_index(fill->transfer)] <= now;
}

}  // namespace

void LocalityCount::add(const LocalityCount& more) {
  requested_bytes += more.requested_bytes;
  found_bytes += more.found_bytes;
  requested += more.requested;
  found += more.found;
}

double LocalityCount::by_bytes() const { return share(found_bytes, requested_bytes); }
double LocalityCount::by_objects() const { return share(found, requested); }

std::vector<LocalityCount> count_locality(const graph::Graph& graph, const program::Program& program,
                                          const std::vector<Seconds>& op_ends,
                                          const std::vector<Seconds>& transfer_ends) {
  SLUICE_CHECK(op_ends.size() == program.compute.size(), "the end of every op");
  SLUICE_CHECK(transfer_ends.size() == program.transfers.size(), "the end of every transfer");
  const std::vector<std::vector<Fill>> fills = find_fills(graph, program);
  std::vector<LocalityCount> counts;
  Seconds previous_end = 0;
  for (const program::ComputeInstruction& instruction : program.compute) {
    LocalityCount count;
    std::set<graph::TensorId> seen;
    const graph::Op& op = graph.op(instruction.op);
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      const graph::TensorId tensor = i < op.inputs.size() ? op.inputs[i] : op.outputs[i - op.inputs.size()];
      if (!seen.insert(tensor).second) continue;
      const bool found = is_there(fills[as_index(tensor)], program, instruction.operands[i], instruction.op,
                                  previous_end, transfer_ends);
      const Bytes bytes = graph.tensor(tensor).bytes;
      count.add({bytes, found ? bytes : 0, 1, found ? 1 : 0});
    }
    previous_end = op_ends[as_index(instruction.op)];
    counts.push_back(count);
  }
  return counts;
}

Locality summarise_locality(const std::vector<LocalityCount>& ops, const std::vector<Seconds>& op_ends,
                            Seconds step_seconds) {
  SLUICE_CHECK(ops.size() == op_ends.size(), "the end of every op");
  const Seconds width = step_seconds / kLocalityBuckets;
  Locality locality;
  int last = -1;
  for (std::size_t op = 0; op < ops.size(); ++op) {
    locality.step.add(ops[op]);
    const int bucket = width > 0 ? std::min(static_cast<int>(op_ends[op] / width), kLocalityBuckets - 1) : 0;
    if (bucket > last) locality.buckets.push_back({bucket * width, {}});
    last = std::max(last, bucket);
    locality.buckets.back().count.add(ops[op]);
  }
  return locality;
}

Locality measure_locality(const graph::Graph& graph, const program::Program& program, const program::StepTimes& step) {
  std::vector<Seconds> op_ends, transfer_ends;
  for (const program::Span& span : step.ops) op_ends.push_back(span.end);
  for (const program::Span& span : step.transfers) transfer_ends.push_back(span.end);
  return summarise_locality(count_locality(graph, program, op_ends, transfer_ends), op_ends, step.step_seconds);
}

std::string describe_locality(const LocalityCount& count) {
  return fmt::format("{:.1f} % of bytes, {:.1f} % of operands found fast", 100 * count.by_bytes(),
                     100 * count.by_objects());
}

nlohmann::json locality_json(const Locality& locality) {
  nlohmann::json series = nlohmann::json::array();
  for (const LocalityBucket& bucket : locality.buckets) {
    series.push_back(
        {{"ms", bucket.begin * 1e3}, {"by_bytes", bucket.count.by_bytes()}, {"by_objects", bucket.count.by_objects()}});
  }
  const LocalityCount& step = locality.step;
  return {{"by_bytes", step.by_bytes()},
          {"by_objects", step.by_objects()},
          {"requested_bytes", step.requested_bytes},
          {"found_bytes", step.found_bytes},
          {"requested", step.requested},
          {"found", step.found},
          {"series", series}};
}

}  // namespace sluice::sim
