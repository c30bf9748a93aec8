#include "sluice/memory/processors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/base/parse.hpp"

namespace sluice::memory {
namespace {

constexpr int kMostThreads = 4096;

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Error not_a_processor(std::string_view text, std::string_view why) {
  return Error{
      ErrorCode::kBadInput,
      fmt::format(
          "processor '{}': {}; write NAME:THREADS, such as device:1,host:1, or NAME:THREADS:TIER+TIER, or NAME@BACKEND:THREADS",
          text, why)};
}

Result<ProcessorRequest> parse_processor(const std::string& text) {
  const std::vector<std::string> fields = split_at(text, ':');
  if (fields.size() < 2 || fields.size() > 3 || fields[0].empty()) return not_a_processor(text, "no name and threads");
  const std::size_t at = fields[0].find('@');
  ProcessorRequest request{.name = fields[0].substr(0, at)};
  if (at != std::string::npos) request.backend = fields[0].substr(at + 1);
  if (request.name.empty() || (at != std::string::npos && request.backend.empty())) {
    return not_a_processor(text, "NAME@BACKEND lacks one of them");
  }
  if (request.backend == "cuda") return not_a_processor(text, "a GPU computes with --gpu, as the only processor");
  const Result<std::int64_t> threads = parse_integer(fields[1], 1, kMostThreads);
  if (!threads.ok()) return not_a_processor(text, fmt::format("'{}' is no number of threads", fields[1]));
  request.threads = static_cast<int>(*threads);
  if (fields.size() == 3) request.tiers = split_at(fields[2], '+');
  return request;
}

// Behind a device's link lies memory of the host.
bool may_own(const Machine& machine, const Tier& tier) { return !machine.processors.empty() && tier.emulated(); }

Result<TierId> addressable_tier(const Machine& machine, const ProcessorRequest& request, const std::string& name) {
  std::vector<std::string> known;
  for (const Tier& tier : machine.tiers) {
    if (!tier.addressable && !may_own(machine, tier)) continue;
    if (tier.name == name) return as_id<TierId>(&tier - machine.tiers.data());
    known.push_back(tier.name);
  }
  return Error{ErrorCode::kBadInput,
               fmt::format("processor '{}' cannot address tier '{}'; tiers that it may use in place: {}", request.name,
                           name, fmt::join(known, ", "))};
}

void join_to_files(TierId memory, Machine& machine) {
  for (TierId file = memory + 1; file < as_id<TierId>(machine.tiers.size()); ++file) {
    if (!machine.tier(file).kind->in_file || machine.link_between(memory, file)) continue;
    machine.links.push_back(link_of_owned_memory(machine, file, memory));
    machine.links.push_back(link_of_owned_memory(machine, memory, file));
  }
}

}  // namespace

Result<std::vector<ProcessorRequest>> parse_processors(std::string_view text) {
  std::vector<ProcessorRequest> requests;
  for (const std::string& each : split_at(text, ',')) {
    SLUICE_ASSIGN(ProcessorRequest request, parse_processor(each));
    if (std::ranges::find(requests, request.name, &ProcessorRequest::name) != requests.end()) {
      return not_a_processor(each, "named twice");
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

Status add_processors(const std::vector<ProcessorRequest>& requests, Machine& machine) {
  for (const ProcessorRequest& request : requests) {
    Processor processor{
        .name = request.name, .threads = request.threads, .tiers = {}, .emulated = true, .backend = request.backend};
    for (const std::string& name : request.tiers) {
      SLUICE_ASSIGN(const TierId tier, addressable_tier(machine, request, name));
      processor.tiers.push_back(tier);
    }
    machine.processors.push_back(std::move(processor));
  }
  if (!machine.processors.empty()) machine.threads = machine.processors.front().threads;
  for (ProcessorId id = 0; id < as_id<ProcessorId>(machine.processors.size()); ++id) {
    for (const TierId tier : machine.processors[as_index(id)].tiers) {
      if (machine.owns(id, tier)) join_to_files(tier, machine);
    }
  }
  return {};
}

Link link_of_owned_memory(const Machine& machine, TierId from, TierId to) {
  const auto end = [&](TierId tier) { return machine.tier(tier).kind->in_file ? tier : kFastTier; };
  const std::optional<LinkId> of_fast = machine.link_between(end(from), end(to));
  SLUICE_CHECK(of_fast.has_value(), "a file is linked to the fast tier, each way");
  Link link = machine.link(*of_fast);
  link.from = from;
  link.to = to;
  return link;
}

std::string describe_processors(const Machine& machine) {
  std::string text;
  for (const Processor& each : machine.processors) {
    text += fmt::format("{} ({} thread{}{}), ", each.name, each.threads, each.threads == 1 ? "" : "s",
                        each.backend == kDefaultBackend ? "" : ", backend " + each.backend);
  }
  if (text.empty()) return text;
  const bool emulated = std::ranges::any_of(machine.processors, &Processor::emulated);
  return emulated ? text + "emulated" : text.substr(0, text.size() - 2);
}

}  // namespace sluice::memory
