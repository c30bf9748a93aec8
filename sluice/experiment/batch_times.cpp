#include "sluice/experiment/batch_times.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::experiment {
namespace {

// Ops of one kind that make parts of one tensor do parts of the same work.
std::string work_of(const graph::Graph& graph, const graph::Op& op) {
  return graph::whole_name(graph.tensor(op.outputs.front())) + " " + std::string(to_string(op.kind));
}

Bytes operand_bytes(const graph::Graph& graph, const graph::Op& op) {
  Bytes bytes = 0;
  for (const graph::TensorId id : op.inputs) bytes += graph.tensor(id).bytes;
  for (const graph::TensorId id : op.outputs) bytes += graph.tensor(id).bytes;
  return bytes;
}

std::map<std::string, Seconds> seconds_by_work(const MeasuredBatch& measured) {
  std::map<std::string, Seconds> seconds;
  for (graph::OpIndex op = 0; op < measured.graph.op_count(); ++op)
    seconds[work_of(measured.graph, measured.graph.op(op))] += measured.profile.op_seconds[as_index(op)];
  return seconds;
}

}  // namespace

// Least squares; a line that begins or falls below zero goes through the origin or lies flat instead.
BatchTimes::Line BatchTimes::fit(const std::vector<Point>& points) {
  double batches = 0, seconds = 0, squares = 0, products = 0;
  for (const Point& point : points) {
    batches += point.batch;
    seconds += point.seconds;
    squares += point.batch * point.batch;
    products += point.batch * point.seconds;
  }
  const auto count = static_cast<double>(points.size());
  const double spread = count * squares - batches * batches;
  if (spread <= 0) return {0, seconds / batches};
  const Seconds sample = (count * products - batches * seconds) / spread;
  const Seconds start = (seconds - sample * batches) / count;
  if (sample <= 0) return {seconds / count, 0};
  if (start < 0) return {0, products / squares};
  return {start, sample};
}

BatchTimes::BatchTimes(const std::vector<MeasuredBatch>& measured) {
  SLUICE_CHECK(measured.size() >= 2, "times are scaled from two batch sizes or more");
  std::map<std::string, std::vector<Point>> points;
  double bytes = 0, seconds = 0;
  for (const MeasuredBatch& each : measured) {
    for (const auto& [work, spent] : seconds_by_work(each)) {
      points[work].push_back({static_cast<double>(each.batch), spent});
      seconds += spent;
    }
    for (const graph::Op& op : each.graph.ops()) bytes += static_cast<double>(operand_bytes(each.graph, op));
  }
  bytes_per_second_ = bytes / seconds;
  for (const auto& [work, of_work] : points) lines_[work] = fit(of_work);

  Seconds promised = 0, found = 0;
  const auto largest = static_cast<double>(measured.back().batch);
  for (auto& [work, of_work] : points) {
    if (of_work.back().batch != largest) continue;
    found += of_work.back().seconds;
    of_work.pop_back();
    promised += of_work.empty() ? 0 : fit(of_work).at(measured.back().batch);
  }
  error_ = promised / found - 1;
}

profile::Profile BatchTimes::at(const graph::Graph& graph, std::int64_t batch, const memory::Machine& machine) const {
  profile::Profile profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  profile.provenance = memory::Provenance::kGiven;
  std::map<std::string, int> parts;
  for (const graph::Op& op : graph.ops()) ++parts[work_of(graph, op)];
  for (const graph::Op& op : graph.ops()) {
    const std::string work = work_of(graph, op);
    const auto line = lines_.find(work);
    profile.op_seconds.push_back(line != lines_.end()
                                     ? line->second.at(batch) / parts[work]
                                     : static_cast<double>(operand_bytes(graph, op)) / bytes_per_second_);
  }
  profile.cold_seconds = profile.op_seconds;
  return profile;
}

}  // namespace sluice::experiment
