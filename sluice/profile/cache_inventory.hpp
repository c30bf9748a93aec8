// What lies in the folder of profile caches (profile_cache.hpp): whose it is, how large, whether it can still be used.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sluice/base/units.hpp"

namespace sluice::profile {

struct CachedProfile {
  std::filesystem::path path;
  Bytes bytes = 0;
  double days = 0;  // since it was last written
  int version = 0;  // of its format; 0: cannot be read
  bool of_this_machine = false;
  std::size_t ops = 0;  // times of ops in it; 0 where it is not of this machine, and not read

  bool stale() const;
};

struct CacheInventory {
  std::filesystem::path folder;
  bool exists = false;
  bool writable = false;  // or could be made
  Bytes bytes = 0;        // of all files, access counts too
  std::vector<CachedProfile> profiles;
};

// `fingerprints`: those of this machine, one for each number of threads (Machine::compute_fingerprint()).
CacheInventory read_cache_inventory(const std::filesystem::path& folder, const std::vector<std::string>& fingerprints);

}  // namespace sluice::profile
