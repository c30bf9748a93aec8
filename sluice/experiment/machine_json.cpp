#include "sluice/experiment/machine_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace sluice {
namespace {

constexpr std::array kTierKinds{TierKind::kDram, TierKind::kFile, TierKind::kEmulated, TierKind::kNuma};
constexpr std::array kProvenances{Provenance::kGiven, Provenance::kMeasured, Provenance::kEmulated,
                                  Provenance::kFirmware};

template <typename Enum, std::size_t N>
Enum enum_from(const std::array<Enum, N>& values, const std::string& text) {
  const auto found = std::ranges::find(values, text, [](Enum value) { return to_string(value); });
  if (found == values.end()) throw nlohmann::json::other_error::create(501, "unknown word '" + text + "'", nullptr);
  return *found;
}

nlohmann::json tier_to_json(const Tier& tier) {
  nlohmann::json document = {{"name", tier.name},
                             {"kind", to_string(tier.kind)},
                             {"capacity_bytes", tier.capacity},
                             {"read_bandwidth", tier.read_bandwidth},
                             {"write_bandwidth", tier.write_bandwidth},
                             {"beside_bandwidth", tier.beside_bandwidth},
                             {"latency_seconds", tier.latency},
                             {"addressable", tier.addressable},
                             {"path", tier.path},
                             {"emulated", tier.emulated()},
                             {"provenance", to_string(tier.provenance)}};
  if (tier.kind == TierKind::kNuma) document["node"] = tier.node;
  return document;
}

Tier tier_from_json(const nlohmann::json& document) {
  Tier tier;
  tier.name = document.at("name");
  tier.kind = enum_from(kTierKinds, document.at("kind"));
  tier.capacity = document.at("capacity_bytes");
  tier.read_bandwidth = document.at("read_bandwidth");
  tier.write_bandwidth = document.at("write_bandwidth");
  tier.beside_bandwidth = document.at("beside_bandwidth");
  tier.latency = document.at("latency_seconds");
  tier.addressable = document.at("addressable");
  tier.path = document.at("path");
  tier.provenance = enum_from(kProvenances, document.at("provenance"));
  if (tier.kind == TierKind::kNuma) tier.node = document.at("node");
  return tier;
}

nlohmann::json link_to_json(const Link& link) {
  return {{"from", link.from},
          {"to", link.to},
          {"bandwidth", link.bandwidth},
          {"shared_bandwidth", link.shared_bandwidth},
          {"latency_seconds", link.latency},
          {"interference_seconds_per_byte", link.interference},
          {"request_bytes", link.request_bytes},
          {"queue_depth", link.queue_depth},
          {"throttled", link.throttled},
          {"provenance", to_string(link.provenance)}};
}

Link link_from_json(const nlohmann::json& document) {
  Link link;
  link.from = document.at("from");
  link.to = document.at("to");
  link.bandwidth = document.at("bandwidth");
  link.shared_bandwidth = document.value("shared_bandwidth", link.shared_bandwidth);  // older files have none
  link.latency = document.at("latency_seconds");
  link.interference = document.at("interference_seconds_per_byte");
  link.request_bytes = document.at("request_bytes");
  link.queue_depth = document.at("queue_depth");
  link.throttled = document.at("throttled");
  link.provenance = enum_from(kProvenances, document.at("provenance"));
  return link;
}

}  // namespace

nlohmann::json machine_to_json(const Machine& machine) {
  nlohmann::json document = {{"cpu", machine.cpu},
                             {"threads", machine.threads},

                             {"fingerprint", machine.fingerprint()},
                             {"tiers", nlohmann::json::array()},
                             {"links", nlohmann::json::array()}};
  for (const Tier& tier : machine.tiers) document["tiers"].push_back(tier_to_json(tier));
  for (const Link& link : machine.links) document["links"].push_back(link_to_json(link));
  return document;
}

Result<Machine> machine_from_json(const nlohmann::json& document) {
  try {
    Machine machine;
    machine.cpu = document.at("cpu");
    machine.threads = document.at("threads");
    for (const auto& tier : document.at("tiers")) machine.tiers.push_back(tier_from_json(tier));
    for (const auto& link : document.at("links")) machine.links.push_back(link_from_json(link));
    return machine;
  } catch (const nlohmann::json::exception& failure) {
    return Error{ErrorCode::kBadInput, fmt::format("not a machine description: {}", failure.what())};
  }
}

}  // namespace sluice
