#include "sluice/train/rank_agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/policies/run_file.hpp"

namespace sluice::train {

Status check_same_step(kernels::Ranks& ranks, std::int64_t first_step) {
  std::int64_t first = first_step;
  SLUICE_RETURN_IF_ERROR(ranks.share(std::as_writable_bytes(std::span(&first, 1))));
  if (first == first_step) return {};
  return Error{ErrorCode::kMismatch,
               fmt::format("rank {} goes on from step {} and rank 0 from step {}: --resume must name the same file for "
                           "all of them",
                           ranks.rank(), first_step, first)};
}

Status share_run(kernels::Ranks& ranks, const graph::Graph& graph, policies::Run& run) {
  std::string text = ranks.rank() == 0 ? policies::run_to_json(graph, run).dump() : "";
  std::uint64_t length = text.size();
  SLUICE_RETURN_IF_ERROR(ranks.share(std::as_writable_bytes(std::span(&length, 1))));
  text.resize(length);
  SLUICE_RETURN_IF_ERROR(ranks.share(std::as_writable_bytes(std::span(text))));
  SLUICE_ASSIGN(const nlohmann::json document, parse_json(text));
  SLUICE_ASSIGN(run, policies::run_from_json(document));
  return {};
}

Result<bool> any_rank(kernels::Ranks* ranks, bool says) {
  if (ranks == nullptr) return says;
  std::vector<std::byte> all(as_index(ranks->count()));
  const std::byte own{says};
  SLUICE_RETURN_IF_ERROR(ranks->gather(kernels::Channel::kBetweenSteps, std::span(&own, 1), 1, all));
  return std::ranges::any_of(all, [](std::byte each) { return each != std::byte{0}; });
}

}  // namespace sluice::train
