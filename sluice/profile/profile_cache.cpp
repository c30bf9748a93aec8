#include "sluice/profile/profile_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sluice/base/hash.hpp"

namespace sluice {
namespace {

constexpr int kCacheFormatVersion = 1;

void check_figure(double figure) {
  if (!std::isfinite(figure) || figure < 0) throw std::invalid_argument("a negative or infinite figure");
}

}  // namespace

void to_json(nlohmann::json& json, const OpMeasurement& op) {
  json = {{"median_seconds", op.median_seconds},
          {"min_seconds", op.min_seconds},
          {"max_seconds", op.max_seconds},
          {"samples", op.samples}};
}

void from_json(const nlohmann::json& json, OpMeasurement& op) {
  json.at("median_seconds").get_to(op.median_seconds);
  json.at("min_seconds").get_to(op.min_seconds);
  json.at("max_seconds").get_to(op.max_seconds);
  json.at("samples").get_to(op.samples);
  for (const Seconds seconds : {op.median_seconds, op.min_seconds, op.max_seconds}) check_figure(seconds);
}

void to_json(nlohmann::json& json, const LinkMeasurement& link) {
  json = {{"bandwidth", link.bandwidth},
          {"latency", link.latency},
          {"request_bytes", link.request_bytes},
          {"queue_depth", link.queue_depth},
          {"interference_seconds_per_byte", link.interference}};
}

void from_json(const nlohmann::json& json, LinkMeasurement& link) {
  json.at("bandwidth").get_to(link.bandwidth);
  json.at("latency").get_to(link.latency);
  json.at("request_bytes").get_to(link.request_bytes);
  json.at("queue_depth").get_to(link.queue_depth);
  json.at("interference_seconds_per_byte").get_to(link.interference);
  for (const double figure : {link.bandwidth, link.latency}) check_figure(figure);
  // 0 where there are no requests: a tier's own bandwidth, kept beside the links.
  if (link.request_bytes < 0 || link.queue_depth < 0) throw std::invalid_argument("a negative request size or depth");
}

std::filesystem::path ProfileCache::default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::filesystem::path(cache) / "sluice";
  }
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : ".") / ".cache" / "sluice";
}

ProfileCache ProfileCache::open(const std::string& machine_fingerprint, std::filesystem::path folder) {
  // Hashed, because a fingerprint may be any text and a file name may not.
  const std::string name = Hasher().add(std::string_view(machine_fingerprint)).hex();
  ProfileCache cache(std::move(folder) / ("profile-" + name + ".json"));
  cache.merge_file();
  return cache;
}

void ProfileCache::merge_file() {
  std::error_code missing;
  if (!std::filesystem::exists(path_, missing)) return;
  try {
    std::ifstream file(path_);
    const auto document = nlohmann::json::parse(file);
    if (document.at("version").get<int>() != kCacheFormatVersion) throw std::invalid_argument("another format version");
    auto ops = document.at("ops").get<std::map<std::string, OpMeasurement>>();
    auto links = document.at("links").get<std::map<std::string, LinkMeasurement>>();
    ops_.merge(ops);
    links_.merge(links);
  } catch (const std::exception& error) {
    notes_.push_back(fmt::format("profile cache {} is unreadable ({}): ignored, and replaced by the next measurement",
                                 path_.string(), error.what()));
  }
}

std::optional<OpMeasurement> ProfileCache::find_op(const std::string& signature) const {
  const auto found = ops_.find(signature);
  return found == ops_.end() ? std::nullopt : std::optional(found->second);
}

void ProfileCache::put_op(const std::string& signature, const OpMeasurement& measurement) {
  ops_[signature] = measurement;
}

std::optional<LinkMeasurement> ProfileCache::find_link(const std::string& key) const {
  const auto found = links_.find(key);
  return found == links_.end() ? std::nullopt : std::optional(found->second);
}

void ProfileCache::put_link(const std::string& key, const LinkMeasurement& measurement) { links_[key] = measurement; }

Status ProfileCache::save() {
  merge_file();
  const nlohmann::json document = {{"version", kCacheFormatVersion}, {"ops", ops_}, {"links", links_}};
  const std::filesystem::path temporary = path_.string() + fmt::format(".{}.tmp", ::getpid());
  std::error_code failed;
  std::filesystem::create_directories(path_.parent_path(), failed);
  {
    std::ofstream file(temporary);
    file << document.dump(1) << '\n';
    file.close();
    if (!file) {
      std::filesystem::remove(temporary, failed);
      return Error{ErrorCode::kIo,
                   fmt::format("cannot write the profile cache {}: check that its folder is writable and "
                               "has room, or set XDG_CACHE_HOME to one that is",
                               path_.string())};
    }
  }
  std::filesystem::rename(temporary, path_, failed);
  if (failed) {
    return Error{ErrorCode::kIo, fmt::format("cannot replace {}: {}", path_.string(), failed.message())};
  }
  return {};
}

}  // namespace sluice
