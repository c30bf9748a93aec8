#include "sluice/profile/profile_cache.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "sluice/base/atomic_file.hpp"
#include "sluice/base/cache_folder.hpp"
#include "sluice/base/hash.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/memory/requests.hpp"

namespace sluice::profile {
namespace {

std::string placement_key(const std::string& signature, const memory::Tier& slow) {
  return signature + " @" + tier_key(slow);
}

}  // namespace

void to_json(nlohmann::json& json, const LinkMeasurement& link) {
  json = {{"bandwidth", link.bandwidth},
          {"latency", link.latency},
          {"request_bytes", link.request_bytes},
          {"queue_depth", link.queue_depth},
          {"interference_seconds_per_byte", link.interference},
          {"interference_seconds_per_request", link.request_interference},
          {"shared_bandwidth", link.shared_bandwidth}};
}

Status read_json(const JsonReader& reader, LinkMeasurement& link) {
  SLUICE_RETURN_IF_ERROR(reader.read_figure("bandwidth", link.bandwidth));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("latency", link.latency));
  SLUICE_RETURN_IF_ERROR(reader.read("request_bytes", link.request_bytes));
  SLUICE_RETURN_IF_ERROR(reader.read("queue_depth", link.queue_depth));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("interference_seconds_per_byte", link.interference));
  SLUICE_RETURN_IF_ERROR(reader.read_figure_if_present("interference_seconds_per_request", link.request_interference));
  SLUICE_RETURN_IF_ERROR(reader.read_figure_if_present("shared_bandwidth", link.shared_bandwidth));
  if (link.is_of_tier() || (link.bandwidth > 0 && memory::are_requests(link.request_bytes, link.queue_depth)))
    return {};
  return reader.error("request_bytes", "no requests that a link can have");
}

std::filesystem::path ProfileCache::default_folder() { return cache_folder(); }

std::filesystem::path ProfileCache::path_for(const std::string& machine_fingerprint,
                                             const std::filesystem::path& folder) {
  if (folder.empty()) return {};
  // Hashed, because a fingerprint may be any text and a file name may not.
  return folder / fmt::format("profile-{}.json", Hasher().add(std::string_view(machine_fingerprint)).hex());
}

ProfileCache ProfileCache::open(const std::string& machine_fingerprint, std::filesystem::path folder) {
  ProfileCache cache(path_for(machine_fingerprint, folder));
  cache.merge_file();
  spdlog::debug("profile cache {}: times of {} ops, {} figures of links", cache.path_.string(), cache.ops_.size(),
                cache.links_.size());
  return cache;
}

void ProfileCache::merge_file() {
  std::error_code missing;
  if (!std::filesystem::exists(path_, missing)) return;
  if (const Status read = read_file(); !read.ok()) {
    notes_.push_back(fmt::format("profile cache {} is unreadable ({}): ignored, and replaced by the next measurement",
                                 path_.string(), read.error().message));
  }
}

Status ProfileCache::read_file() {
  SLUICE_ASSIGN(const nlohmann::json document, read_json_file(path_));
  const JsonReader reader(document);
  int version = 0;
  SLUICE_RETURN_IF_ERROR(reader.read("version", version));
  if (version != kCacheFormatVersion) {
    notes_.push_back(fmt::format("profile cache {} is of format version {}, this sluice has {}: measuring again",
                                 path_.string(), version, kCacheFormatVersion));
    return {};
  }
  std::map<std::string, OpMeasurement> ops;
  std::map<std::string, OpConfigurations> placements;
  std::map<std::string, LinkMeasurement> links;
  SLUICE_RETURN_IF_ERROR(reader.read("ops", ops));
  SLUICE_RETURN_IF_ERROR(reader.read("placements", placements));
  SLUICE_RETURN_IF_ERROR(reader.read("links", links));
  std::map<std::string, EncodingFigures> encodings;
  if (reader.has("encodings")) SLUICE_RETURN_IF_ERROR(reader.read("encodings", encodings));  // older caches have none
  for (const auto& [key, configurations] : placements) {
    if (!begin_in_fast_memory(configurations)) return reader.error("placements", "no time in fast memory of " + key);
  }
  ops_.merge(ops);
  placements_.merge(placements);
  links_.merge(links);
  encodings_.merge(encodings);
  return {};
}

std::optional<OpMeasurement> ProfileCache::find_op(const std::string& signature) const {
  const auto found = ops_.find(signature);
  return found == ops_.end() ? std::nullopt : std::optional(found->second);
}

void ProfileCache::put_op(const std::string& signature, const OpMeasurement& measurement) {
  ops_[signature] = measurement;
}

const OpConfigurations* ProfileCache::find_placement(const std::string& signature, const memory::Tier& slow) const {
  const auto found = placements_.find(placement_key(signature, slow));
  return found == placements_.end() ? nullptr : &found->second;
}

void ProfileCache::put_placement(const std::string& signature, const memory::Tier& slow,
                                 OpConfigurations configurations) {
  placements_[placement_key(signature, slow)] = std::move(configurations);
}

const EncodingFigures* ProfileCache::find_encodings(const std::string& graph_fingerprint) const {
  const auto found = encodings_.find(graph_fingerprint);
  return found == encodings_.end() ? nullptr : &found->second;
}

void ProfileCache::put_encodings(const std::string& graph_fingerprint, EncodingFigures figures) {
  encodings_[graph_fingerprint] = std::move(figures);
}

std::optional<LinkMeasurement> ProfileCache::find_link(const std::string& key) const {
  const auto found = links_.find(key);
  return found == links_.end() ? std::nullopt : std::optional(found->second);
}

void ProfileCache::put_link(const std::string& key, const LinkMeasurement& measurement) { links_[key] = measurement; }

Status ProfileCache::save() {
  if (path_.empty()) return {};
  merge_file();
  const nlohmann::json document = {{"version", kCacheFormatVersion},
                                   {"ops", ops_},
                                   {"placements", placements_},
                                   {"links", links_},
                                   {"encodings", encodings_}};
  std::error_code shows_when_written;
  std::filesystem::create_directories(path_.parent_path(), shows_when_written);
  const Status written = write_file(path_, document.dump(1) + "\n");
  if (written.ok()) return {};
  return Error{written.error().code, written.error().message + ", or set XDG_CACHE_HOME to a folder that can be used"};
}

std::vector<std::shared_ptr<const PlacementTimes>> known_placements(const graph::Graph& graph,
                                                                    const memory::Machine& machine,
                                                                    const ProfileCache& cache) {
  std::vector<std::shared_ptr<const PlacementTimes>> all;
  for (std::size_t i = memory::kFastTier + 1; i < machine.tiers.size(); ++i) {
    const memory::Tier& tier = machine.tiers[i];
    auto times = std::make_shared<PlacementTimes>(
        PlacementTimes{.tier = tier_key(tier), .emulated = tier.emulated(), .distinct = {}, .index = {}});
    std::map<std::string, std::int32_t> places;
    for (const graph::Op& op : graph.ops()) {
      const std::string signature = graph::op_signature(graph, op);
      const auto next = static_cast<std::int32_t>(times->distinct.size());
      const OpConfigurations* known = cache.find_placement(signature, tier);
      const auto [place, is_new] = places.emplace(signature, known == nullptr ? -1 : next);
      if (is_new && known != nullptr) times->distinct.push_back(*known);
      times->index.push_back(place->second);
    }
    if (!times->distinct.empty()) all.push_back(std::move(times));
  }
  return all;
}

}  // namespace sluice::profile
