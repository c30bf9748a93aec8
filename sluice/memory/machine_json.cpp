#include "sluice/memory/machine_json.hpp"

#include <fmt/format.h>

#include <array>

#include "sluice/memory/requests.hpp"

namespace sluice::memory {
namespace {

constexpr std::array kProvenances{Provenance::kGiven, Provenance::kMeasured, Provenance::kEmulated,
                                  Provenance::kFirmware};
constexpr std::array kMovers{CopiedBy::kProcessor, CopiedBy::kDma};

// Memory that must lie in one place lies on a node.
bool has_node(const Tier& tier) { return tier.kind->settle != nullptr; }

nlohmann::json tier_to_json(const Tier& tier) {
  nlohmann::json document = {{"name", tier.name},
                             {"kind", to_string(tier.kind)},
                             {"capacity_bytes", tier.capacity},
                             {"read_bandwidth", tier.read_bandwidth},
                             {"write_bandwidth", tier.write_bandwidth},
                             {"granule_bytes", tier.granule},
                             {"latency_seconds", tier.latency},
                             {"addressable", tier.addressable},
                             {"path", tier.path},
                             {"emulated", tier.emulated()},
                             {"provenance", to_string(tier.provenance)}};
  if (has_node(tier)) document["node"] = tier.node;
  return document;
}

nlohmann::json link_to_json(const Link& link) {
  return {{"from", link.from},
          {"to", link.to},
          {"bandwidth", link.bandwidth},
          {"shared_bandwidth", link.shared_bandwidth},
          {"latency_seconds", link.latency},
          {"interference_seconds_per_byte", link.interference},
          {"interference_seconds_per_request", link.request_interference},
          {"request_bytes", link.request_bytes},
          {"queue_depth", link.queue_depth},
          {"throttled", link.throttled},
          {"copied_by", to_string(link.copied_by)},
          {"provenance", to_string(link.provenance)}};
}

nlohmann::json processor_to_json(const Processor& processor) {
  return {{"name", processor.name},
          {"threads", processor.threads},
          {"tiers", processor.tiers},
          {"emulated", processor.emulated},
          {"backend", processor.backend}};
}

Status read_processors(const JsonReader& reader, Machine& machine) {
  if (!reader.has("processors")) return {};
  SLUICE_ASSIGN(const std::vector<JsonReader> processors, reader.list("processors"));
  for (const JsonReader& each : processors) {
    Processor& processor = machine.processors.emplace_back();
    SLUICE_RETURN_IF_ERROR(each.read("name", processor.name));
    SLUICE_RETURN_IF_ERROR(each.read("threads", processor.threads));
    SLUICE_RETURN_IF_ERROR(each.read("tiers", processor.tiers));
    SLUICE_RETURN_IF_ERROR(each.read("emulated", processor.emulated));
    SLUICE_RETURN_IF_ERROR(each.read_if_present("backend", processor.backend));
  }
  return {};
}

}  // namespace

Status read_json(const JsonReader& reader, Tier& tier) {
  SLUICE_RETURN_IF_ERROR(reader.read("name", tier.name));
  SLUICE_RETURN_IF_ERROR(reader.read_word("kind", tier_kinds(), tier.kind));
  SLUICE_RETURN_IF_ERROR(reader.read("capacity_bytes", tier.capacity));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("read_bandwidth", tier.read_bandwidth));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("write_bandwidth", tier.write_bandwidth));
  SLUICE_RETURN_IF_ERROR(reader.read("granule_bytes", tier.granule));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("latency_seconds", tier.latency));
  SLUICE_RETURN_IF_ERROR(reader.read("addressable", tier.addressable));
  SLUICE_RETURN_IF_ERROR(reader.read("path", tier.path));
  SLUICE_RETURN_IF_ERROR(reader.read_word("provenance", kProvenances, tier.provenance));
  return has_node(tier) ? reader.read("node", tier.node) : Status();
}

Status read_json(const JsonReader& reader, Link& link) {
  SLUICE_RETURN_IF_ERROR(reader.read("from", link.from));
  SLUICE_RETURN_IF_ERROR(reader.read("to", link.to));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("bandwidth", link.bandwidth));
  SLUICE_RETURN_IF_ERROR(reader.read_figure_if_present("shared_bandwidth", link.shared_bandwidth));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("latency_seconds", link.latency));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("interference_seconds_per_byte", link.interference));
  SLUICE_RETURN_IF_ERROR(reader.read_figure_if_present("interference_seconds_per_request", link.request_interference));
  SLUICE_RETURN_IF_ERROR(reader.read("request_bytes", link.request_bytes));
  SLUICE_RETURN_IF_ERROR(reader.read("queue_depth", link.queue_depth));
  if (!are_requests(link.request_bytes, link.queue_depth)) {
    return reader.error("request_bytes", fmt::format("{} bytes, {} in flight: not whole blocks of {}, or too many",
                                                     link.request_bytes, link.queue_depth, kBlockAlignment));
  }
  SLUICE_RETURN_IF_ERROR(reader.read("throttled", link.throttled));
  SLUICE_RETURN_IF_ERROR(reader.read_word("copied_by", kMovers, link.copied_by));
  return reader.read_word("provenance", kProvenances, link.provenance);
}

Status read_json(const JsonReader& reader, Machine& machine) {
  SLUICE_RETURN_IF_ERROR(reader.read("cpu", machine.cpu));
  SLUICE_RETURN_IF_ERROR(reader.read("threads", machine.threads));
  SLUICE_RETURN_IF_ERROR(reader.read("cache_bytes", machine.cache_bytes));
  SLUICE_RETURN_IF_ERROR(reader.read("tiers", machine.tiers));
  SLUICE_RETURN_IF_ERROR(read_processors(reader, machine));
  return reader.read("links", machine.links);
}

nlohmann::json machine_to_json(const Machine& machine) {
  nlohmann::json document = {{"cpu", machine.cpu},
                             {"threads", machine.threads},
                             {"cache_bytes", machine.cache_bytes},
                             {"fingerprint", machine.fingerprint()},
                             {"tiers", nlohmann::json::array()},
                             {"links", nlohmann::json::array()}};
  for (const Tier& tier : machine.tiers) document["tiers"].push_back(tier_to_json(tier));
  for (const Link& link : machine.links) document["links"].push_back(link_to_json(link));
  for (const Processor& each : machine.processors) document["processors"].push_back(processor_to_json(each));
  return document;
}

Result<Machine> machine_from_json(const nlohmann::json& document) {
  Machine machine;
  const Status read = read_json(JsonReader(document), machine);
  if (read.ok()) return machine;
  return Error{read.error().code, fmt::format("not a machine description: {}", read.error().message)};
}

}  // namespace sluice::memory
