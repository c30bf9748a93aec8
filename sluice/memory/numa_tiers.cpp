#include "sluice/memory/numa_tiers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <limits>
#include <string>

#include "sluice/base/parse.hpp"

namespace sluice::memory {
namespace {

constexpr std::string_view kPrefix = "numa";

std::optional<int> parse_node(std::string_view text) {
  const Result<std::int64_t> node = parse_integer(text, 0, std::numeric_limits<std::uint16_t>::max());
  return node.ok() ? std::optional(static_cast<int>(*node)) : std::nullopt;
}

std::string nodes_there_are(const NumaTopology& topology) {
  return fmt::format("memory nodes to choose from: {}", fmt::join(topology.with_memory(), ", "));
}

Error bad_node(int node, std::string_view what, const NumaTopology& topology) {
  return {ErrorCode::kBadInput, fmt::format("memory node {} {}; {}", node, what, nodes_there_are(topology))};
}

Status check_node(int id, const NumaTopology& topology) {
  const NumaNode* const node = topology.find(id);
  if (node == nullptr) return bad_node(id, "does not exist on this machine", topology);
  if (node->memory == 0) return bad_node(id, "has processors but no memory", topology);
  if (!node->allowed)
    return bad_node(id, "is not among those that this process's cpuset or container allows", topology);
  return {};
}

// Where the compute threads run.
Result<int> fast_node(const NumaTopology& topology) {
  const std::vector<int> computing = topology.computing();
  if (computing.size() == 1) {
    SLUICE_RETURN_IF_ERROR(check_node(computing.front(), topology));
    return computing.front();
  }
  return Error{
      ErrorCode::kBadInput,
      fmt::format("compute threads may run on memory nodes {}, so which memory is fast is open: name both nodes "
                  "(numa:FAST,SLOW), or keep the threads on one (numactl --cpunodebind={})",
                  fmt::join(computing, ", "), computing.empty() ? 0 : computing.front())};
}

Error same_node(int node, bool named, const NumaTopology& topology) {
  if (topology.with_memory().size() < 2) {
    return {ErrorCode::kBadInput, fmt::format("this machine has one memory node, {}, so no node is slower; choose "
                                              "another slow tier, such as file",
                                              node)};
  }
  return bad_node(node,
                  named ? "is named as the fast tier and as the slow one"
                        : "is where the compute threads run, so "
                          "it is the fast tier",
                  topology);
}

Tier node_tier(const NumaNode& node, const Tier& local) {
  Tier tier = local;
  tier.name = fmt::format("{}:{}", kPrefix, node.id);
  tier.kind = TierKind::kNuma;
  tier.node = node.id;
  tier.capacity = node.free;
  const double slower = static_cast<double>(node.distance) / static_cast<double>(kLocalDistance);
  tier.read_bandwidth /= slower;
  tier.write_bandwidth /= slower;
  tier.latency *= slower;
  return tier;
}

Status set_capacity(const NumaNode& node, Bytes asked, Tier& tier) {
  if (asked == 0) return {};
  if (asked > node.memory) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("{} of memory node {} were asked for; it has {}, of which {} are free",
                             format_bytes(asked), node.id, format_bytes(node.memory), format_bytes(node.free))};
  }
  tier.capacity = asked;
  return {};
}

void take_from_firmware(const NodeFigures& figures, Tier& tier) {
  tier.read_bandwidth = figures.read_bandwidth;
  tier.write_bandwidth = figures.write_bandwidth;
  tier.latency = figures.read_latency;
  tier.provenance = Provenance::kFirmware;
}

void ask_firmware(const NumaTopology& topology, const std::filesystem::path& nodes, std::vector<Tier>& tiers) {
  std::vector<NodeFigures> all;
  for (const Tier& tier : tiers) {
    const auto figures = read_node_figures(tier.node, topology.computing(), nodes);
    if (!figures.ok()) spdlog::warn("{}; the memory nodes are measured instead", figures.error().message);
    if (!figures.ok() || !*figures) return;
    all.push_back(**figures);
  }
  for (std::size_t i = 0; i < tiers.size(); ++i) take_from_firmware(all[i], tiers[i]);
}

}  // namespace

bool is_numa_request(std::string_view slow_tier) { return slow_tier.starts_with(kPrefix); }

Result<NumaRequest> parse_numa_request(std::string_view slow_tier) {
  const Error bad{ErrorCode::kBadInput,
                  fmt::format("'{}' names no memory node: write numa:N for node N as the slow tier, or numa:FAST,SLOW "
                              "for two nodes",
                              slow_tier)};
  if (!slow_tier.starts_with("numa:")) return bad;
  const std::string_view names = slow_tier.substr(std::string_view("numa:").size());
  const auto comma = names.find(',');
  NumaRequest request;
  if (comma != std::string_view::npos) {
    request.fast = parse_node(names.substr(0, comma));
    if (!request.fast) return bad;
  }
  const auto slow = parse_node(comma == std::string_view::npos ? names : names.substr(comma + 1));
  if (!slow) return bad;
  request.slow = *slow;
  return request;
}

Result<std::vector<Tier>> choose_numa_tiers(const NumaRequest& request, const NumaTopology& topology, const Tier& local,
                                            const std::filesystem::path& nodes) {
  SLUICE_RETURN_IF_ERROR(check_node(request.slow, topology));
  int fast = request.fast.value_or(0);
  if (request.fast) {
    SLUICE_RETURN_IF_ERROR(check_node(fast, topology));
  } else {
    SLUICE_ASSIGN(fast, fast_node(topology));
  }
  if (fast == request.slow) return same_node(fast, request.fast.has_value(), topology);
  const NumaNode& slow_node = *topology.find(request.slow);
  std::vector<Tier> tiers{node_tier(*topology.find(fast), local), node_tier(slow_node, local)};
  SLUICE_RETURN_IF_ERROR(set_capacity(slow_node, request.slow_capacity, tiers.back()));
  ask_firmware(topology, nodes, tiers);
  return tiers;
}

}  // namespace sluice::memory
