// Observations 2 and 3: what access counts say of tensors, and of the pages they lie on.
#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/report/characterization.hpp"

namespace sluice::report {
namespace {

std::size_t index_of(Heat heat) { return as_index(heat); }

// Consecutive pages that hold the same tensors.
struct PageRun {
  Interval<std::int64_t> pages;
  std::vector<graph::TensorId> tensors;
};

// Every page of the layout that holds a tensor, in runs: between two ends of tensors nothing changes.
std::vector<PageRun> runs_of_pages(const graph::Graph& graph, const layout::PageLayout& layout) {
  std::vector<std::int64_t> bounds;
  std::vector<std::pair<std::int64_t, graph::TensorId>> begins;  // first page
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const Interval<std::int64_t> pages = pages_of(layout, graph, id, profile::kPageBytes);
    if (pages.empty()) continue;
    bounds.insert(bounds.end(), {pages.begin, pages.end});
    begins.emplace_back(pages.begin, id);
  }
  std::ranges::sort(bounds);
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::ranges::sort(begins);
  std::vector<PageRun> runs;
  std::vector<graph::TensorId> here;
  auto next = begins.begin();
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    std::erase_if(
        here, [&](graph::TensorId id) { return pages_of(layout, graph, id, profile::kPageBytes).end <= bounds[i]; });
    for (; next != begins.end() && next->first == bounds[i]; ++next) here.push_back(next->second);
    if (!here.empty()) runs.push_back({{bounds[i], bounds[i + 1]}, here});
  }
  return runs;
}

// A tensor's bytes on the pages of a run.
Bytes bytes_within(const graph::Graph& graph, const layout::PageLayout& layout, graph::TensorId id,
                   Interval<std::int64_t> pages) {
  const Bytes offset = layout.offsets[as_index(id)];
  const Bytes begin = std::max(offset, pages.begin * profile::kPageBytes);
  return std::min(offset + graph.tensor(id).bytes, pages.end * profile::kPageBytes) - begin;
}

}  // namespace

Heat heat_of(double accesses_per_page) {
  return accesses_per_page < 10 ? Heat::kCold : accesses_per_page <= 100 ? Heat::kWarm : Heat::kHot;
}

HotAndCold measure_heat(const graph::Graph& graph, const graph::Liveness& liveness,
                        const std::vector<profile::TensorAccesses>& accesses) {
  HotAndCold found;
  std::array<std::vector<Bytes>, kHeats> bytes;
  bytes.fill(std::vector<Bytes>(graph.tensors().size(), 0));
  for (std::size_t id = 0; id < graph.tensors().size(); ++id) {
    if (liveness.uses[id].empty()) continue;
    const std::size_t heat = index_of(heat_of(accesses[id].per_page));
    found.rows[heat].tensors.add(graph.tensors()[id].bytes);
    found.rows[heat].accesses += accesses[id].reads + accesses[id].writes;
    bytes[heat][id] = graph.tensors()[id].bytes;
  }
  for (std::size_t heat = 0; heat < kHeats; ++heat) {
    const std::vector<Bytes> live = graph::live_bytes(liveness, bytes[heat]);
    if (!live.empty()) found.rows[heat].peak = std::ranges::max(live);
  }
  return found;
}

FalseSharing measure_false_sharing(const graph::Graph& graph, const graph::Liveness& liveness,
                                   const layout::PageLayout& layout,
                                   const std::vector<profile::TensorAccesses>& accesses) {
  FalseSharing found;
  const auto per_page = [&](graph::TensorId id) { return accesses[as_index(id)].per_page; };
  const auto range = [&](graph::TensorId id) { return liveness.ranges[as_index(id)]; };
  for (const PageRun& run : runs_of_pages(graph, layout)) {
    double all = 0;
    for (const graph::TensorId id : run.tensors) all += per_page(id);
    found.page_bytes[index_of(heat_of(all))] += run.pages.length() * profile::kPageBytes;
    for (const graph::TensorId id : run.tensors) {
      const Heat own = heat_of(per_page(id));
      const Bytes bytes = bytes_within(graph, layout, id, run.pages);
      found.tensor_bytes[index_of(own)] += bytes;
      found.bytes_of[index_of(own)][index_of(heat_of(all))] += bytes;
      if (heat_of(all) == own) continue;
      double together = 0;
      for (const graph::TensorId other : run.tensors)
        together += range(other).overlaps(range(id)) ? per_page(other) : 0;
      found.misclassed += bytes;
      if (heat_of(together) != own) found.misclassed_together += bytes;
    }
  }
  return found;
}

}  // namespace sluice::report
