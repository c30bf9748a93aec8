#include "sluice/memory/page_mover.hpp"

#include <fmt/format.h>
#include <numaif.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "sluice/base/as_index.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::memory {
namespace {

constexpr int kMostAttempts = 3;  // a page that is in use for a moment may move a moment later
constexpr auto kMoment = std::chrono::milliseconds(1);

Error refusal(int error, const std::string& what) {
  switch (error) {
    case EPERM:
    case ENOSYS:
      return {ErrorCode::kUnsupported,
              fmt::format("cannot {}: {}; a container's filter of system calls may forbid move_pages and mbind (allow "
                          "them, docker: --cap-add SYS_NICE), or choose a tier that is not a memory node",
                          what, std::strerror(error))};
    case ENODEV:
    case EACCES:
      return {ErrorCode::kBadInput, fmt::format("cannot {}: the node does not exist or is not among those that this "
                                                "process may use ({})",
                                                what, std::strerror(error))};
    default:
      return {ErrorCode::kIo, fmt::format("cannot {}: {}", what, std::strerror(error))};
  }
}

// Asks about those pages that have no node so far.
Status ask_for_the_rest(std::span<void* const> pages, std::span<int> nodes) {
  std::vector<std::size_t> asked;
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (nodes[i] != kNowhereYet) continue;
    asked.push_back(i);
    addresses.push_back(pages[i]);
  }
  std::vector<int> answers(asked.size());
  if (::move_pages(0, addresses.size(), addresses.data(), nullptr, answers.data(), 0) != 0) {
    return refusal(errno, "ask on which memory nodes pages lie");
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (answers[i] >= 0) nodes[asked[i]] = answers[i];
  }
  return {};
}

// The kernel says of a page that it is moving at that moment (it compacts memory by itself) that it is nowhere, as it
// says of one that nobody has touched. A moment later it has arrived.
Status ask_for_pages(std::span<void* const> pages, std::span<int> nodes) {
  std::ranges::fill(nodes, kNowhereYet);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kMoment);
    SLUICE_RETURN_IF_ERROR(ask_for_the_rest(pages, nodes));
    if (std::ranges::find(nodes, kNowhereYet) == nodes.end()) break;
  }
  return {};
}

std::int64_t count_elsewhere(std::span<const int> nodes, int node) {
  return std::ranges::count_if(nodes, [node](int at) { return at != node && at != kNowhereYet; });
}

// One call for the pages that lie elsewhere, of those moved at once. True when the node has room for more.
Result<bool> push_pages(std::span<void* const> pages, std::span<const int> nodes, int node) {
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (nodes[i] != node && nodes[i] != kNowhereYet) addresses.push_back(pages[i]);
  }
  const std::vector<int> targets(addresses.size(), node);
  std::vector<int> status(addresses.size());
  const long left = ::move_pages(0, addresses.size(), addresses.data(), targets.data(), status.data(), MPOL_MF_MOVE);
  if (left >= 0) return std::ranges::find(status, -ENOMEM) == status.end();
  if (errno == ENOMEM) return false;
  if (errno == ENOENT || errno == EBUSY || errno == EAGAIN) return true;  // told page by page by newer kernels
  return refusal(errno, fmt::format("move pages to memory node {}", node));
}

// Leaves in `nodes` where the pages really are.
Status move_some(std::span<void* const> pages, std::span<int> nodes, int node, PageMoves& moves) {
  SLUICE_RETURN_IF_ERROR(ask_for_pages(pages, nodes));
  std::int64_t elsewhere = count_elsewhere(nodes, node);
  for (int attempt = 0; attempt < kMostAttempts && elsewhere > 0 && !moves.node_full; ++attempt) {
    SLUICE_ASSIGN(const bool room, push_pages(pages, nodes, node));
    moves.node_full = !room;
    SLUICE_RETURN_IF_ERROR(ask_for_pages(pages, nodes));
    const std::int64_t still = count_elsewhere(nodes, node);
    moves.moved += elsewhere - still;
    elsewhere = still;
  }
  moves.left_behind += elsewhere;
  return {};
}

}  // namespace

std::vector<void*> pages_of(std::byte* data, Bytes bytes) {
  std::vector<void*> pages;
  pages.reserve(as_index(bytes / kBlockAlignment));
  for (Bytes offset = 0; offset < bytes; offset += kBlockAlignment) pages.push_back(data + offset);
  return pages;
}

Result<std::vector<int>> nodes_of_pages(std::span<void* const> pages) {
  std::vector<int> nodes(pages.size());
  for (std::size_t begin = 0; begin < pages.size(); begin += kMovedAtOnce) {
    const std::size_t count = std::min(kMovedAtOnce, pages.size() - begin);
    SLUICE_RETURN_IF_ERROR(ask_for_pages(pages.subspan(begin, count), std::span(nodes).subspan(begin, count)));
  }
  return nodes;
}

Result<PageMoves> move_pages_to_node(std::span<void* const> pages, int node) {
  PageMoves moves;
  moves.nodes.resize(pages.size());
  for (std::size_t begin = 0; begin < pages.size(); begin += kMovedAtOnce) {
    const std::size_t count = std::min(kMovedAtOnce, pages.size() - begin);
    SLUICE_RETURN_IF_ERROR(
        move_some(pages.subspan(begin, count), std::span(moves.nodes).subspan(begin, count), node, moves));
  }
  return moves;
}

}  // namespace sluice::memory
