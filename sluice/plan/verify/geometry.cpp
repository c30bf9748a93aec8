#include "sluice/plan/verify/geometry.hpp"

#include <algorithm>

#include "sluice/base/as_index.hpp"

namespace sluice::plan::verify {
namespace {

constexpr Bytes kLine = 64;
constexpr memory::TierId kFastest = 0;

Bytes in_whole(Bytes unit, Bytes bytes) { return (bytes + unit - 1) / unit * unit; }

Bytes tensor_bytes(const graph::Graph& graph, const Plan& plan, ResidencyIndex residency) {
  return graph.tensor(plan.residencies[as_index(residency)].tensor).bytes;
}

std::vector<bool> moved(const Plan& plan) {
  std::vector<bool> moved(plan.residencies.size(), false);
  const auto mark = [&](ResidencyIndex side) {
    if (side >= 0 && as_index(side) < moved.size()) moved[as_index(side)] = true;
  };
  for (const Migration& migration : plan.migrations) {
    mark(migration.from);
    mark(migration.to);
  }
  return moved;
}

}  // namespace

Bytes staging(const Plan& plan) {
  constexpr Bytes kForATier = 512 * 1024;
  std::vector<bool> encoded(plan.arena_bytes.size(), false);
  for (const Residency& residency : plan.residencies) {
    if (residency.encoded()) encoded[as_index(residency.tier)] = true;
  }
  return kForATier * std::count(encoded.begin(), encoded.end(), true);
}

std::vector<Bytes> member_distances(const graph::Graph& graph, const Plan& plan, const Block& block) {
  std::vector<Bytes> distances;
  Bytes next = 0;
  for (const ResidencyIndex member : block.members) {
    distances.push_back(next);
    next += in_whole(kLine, tensor_bytes(graph, plan, member));
  }
  return distances;
}

std::vector<Extent> extents(const graph::Graph& graph, const Plan& plan) {
  const std::vector<bool> moves = moved(plan);
  std::vector<Extent> extents;
  extents.reserve(plan.residencies.size());
  for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
    const Bytes bytes = tensor_bytes(graph, plan, as_id<ResidencyIndex>(i));
    const bool shares_pages = bytes < kPage && plan.residencies[i].tier == kFastest && !moves[i];
    const Bytes unit = shares_pages ? kLine : kPage;
    extents.push_back({in_whole(unit, bytes), unit});
  }
  for (const Block& block : plan.blocks) {
    const std::vector<Bytes> distances = member_distances(graph, plan, block);
    for (std::size_t i = 0; i < block.members.size(); ++i) {
      extents[as_index(block.members[i])] = {in_whole(kLine, tensor_bytes(graph, plan, block.members[i])), kLine};
    }
    const ResidencyIndex last = block.members.back();
    extents[as_index(block.members.front())].alignment = kPage;
    extents[as_index(last)].bytes =
        in_whole(kPage, distances.back() + tensor_bytes(graph, plan, last)) - distances.back();
  }
  return extents;
}

std::vector<Interval<Bytes>> memory_at(const Plan& plan, memory::TierId tier, Interval<Bytes> addresses) {
  const auto next = std::ranges::upper_bound(plan.stitches, addresses.begin, {}, &memory::Stitch::address);
  if (tier != kFastest || next == plan.stitches.begin()) return {addresses};
  const memory::Stitch& stitch = *std::prev(next);
  std::vector<Interval<Bytes>> memory;
  Bytes address = stitch.address;
  for (const Interval<Bytes>& piece : stitch.memory) {
    const Bytes from = std::clamp(addresses.begin - address, Bytes{0}, piece.length());
    const Bytes to = std::clamp(addresses.end - address, Bytes{0}, piece.length());
    if (from < to) memory.push_back({piece.begin + from, piece.begin + to});
    address += piece.length();
  }
  return memory;
}

std::vector<std::vector<ResidencyIndex>> step_beginnings(const graph::Graph& graph, const Plan& plan) {
  std::vector<std::vector<ResidencyIndex>> beginnings(graph.tensors().size());
  for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    if (graph::is_persistent(graph.tensor(residency.tensor).role) && residency.ops.begin == 0) {
      beginnings[as_index(residency.tensor)].push_back(as_id<ResidencyIndex>(i));
    }
  }
  for (const Migration& migration : plan.migrations) {
    if (migration.issue_after < 0) std::erase(beginnings[as_index(migration.tensor)], migration.to);
  }
  return beginnings;
}

}  // namespace sluice::plan::verify
