// The profile cache: measured op times and link figures of one machine, kept on disk between runs, so that the second
// run of a model measures nothing and models share the ops they have in common.
//
// Keys are op signatures (graph.hpp). For times by placement, the slow tier's key (tier_key()) follows the signature. A
// file of an older format version is not read: what it knew is measured again, and notes() says so.
//
// One JSON file per machine fingerprint, in $XDG_CACHE_HOME/sluice, else ~/.cache/sluice, unless a folder is given.
// save() merges with what other processes have written since and replaces the file atomically. A file that cannot be
// read or parsed is reported in notes() and ignored: a cache is never a reason to fail. Without a folder (an empty path:
// base/cache_folder.hpp) it lives as long as the object. Not thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/profile/encoding_figures.hpp"
#include "sluice/profile/placement.hpp"

namespace sluice::profile {

// 1 had no times on cold operands, 2 had delays in those of placements, 3 had one encoder's speed for all.
inline constexpr int kCacheFormatVersion = 4;

struct LinkMeasurement {
  BytesPerSecond bandwidth = 0;
  Seconds latency = 0;
  Bytes request_bytes = 0;
  int queue_depth = 0;
  Seconds interference = 0;  // per byte
  BytesPerSecond shared_bandwidth = 0;
  Seconds request_interference = 0;
  bool is_of_tier() const {
    return request_bytes == 0 && queue_depth == 0;
  }  // a tier's own bandwidth, kept beside the links
  bool operator==(const LinkMeasurement&) const = default;
};

class ProfileCache {
 public:
  // `machine_fingerprint` is Machine::compute_fingerprint().
  static ProfileCache open(const std::string& machine_fingerprint, std::filesystem::path folder = default_folder());
  static std::filesystem::path default_folder();
  static std::filesystem::path path_for(const std::string& machine_fingerprint, const std::filesystem::path& folder);

  std::optional<OpMeasurement> find_op(const std::string& signature) const;
  void put_op(const std::string& signature, const OpMeasurement& measurement);
  const std::map<std::string, OpMeasurement>& ops() const { return ops_; }  // by signature, which begins with the kind

  // Times of the op with operands in `slow`; nullptr when it was not measured.
  const OpConfigurations* find_placement(const std::string& signature, const memory::Tier& slow) const;
  void put_placement(const std::string& signature, const memory::Tier& slow, OpConfigurations configurations);

  // Of the graph with this fingerprint; nullptr when nobody measured them.
  const EncodingFigures* find_encodings(const std::string& graph_fingerprint) const;
  void put_encodings(const std::string& graph_fingerprint, EncodingFigures figures);

  // `key` names both tiers by what they are on, e.g. "dram->file on device 259:1": the caller's choice.
  std::optional<LinkMeasurement> find_link(const std::string& key) const;
  void put_link(const std::string& key, const LinkMeasurement& measurement);

  Status save();

  const std::filesystem::path& path() const { return path_; }
  std::size_t op_count() const { return ops_.size(); }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  explicit ProfileCache(std::filesystem::path path) : path_(std::move(path)) {}
  void merge_file();  // adds what the file has and this object has not; notes why it cannot
  Status read_file();

  std::filesystem::path path_;
  std::map<std::string, OpMeasurement> ops_;
  std::map<std::string, OpConfigurations> placements_;
  std::map<std::string, LinkMeasurement> links_;
  std::map<std::string, EncodingFigures> encodings_;
  std::vector<std::string> notes_;
};

// What the cache knows of ops with operands in the machine's slow tiers: one entry for each tier for which it knows
// any.
std::vector<std::shared_ptr<const PlacementTimes>> known_placements(const graph::Graph& graph,
                                                                    const memory::Machine& machine,
                                                                    const ProfileCache& cache);

}  // namespace sluice::profile
