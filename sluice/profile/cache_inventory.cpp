#include "sluice/profile/cache_inventory.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "sluice/base/as_index.hpp"
#include "sluice/base/parse.hpp"
#include "sluice/profile/profile_cache.hpp"

namespace sluice::profile {
namespace {

// Keys are written in alphabetical order, so the version is at the end: no need to read megabytes of times.
int version_at_the_end(const std::filesystem::path& path, Bytes bytes) {
  constexpr Bytes kTail = 64;
  constexpr std::string_view kKey = "\"version\": ";
  std::ifstream file(path, std::ios::binary);
  file.seekg(std::max<Bytes>(0, bytes - kTail));
  std::string tail(as_index(std::min(bytes, kTail)), '\0');
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  const std::size_t key = tail.rfind(kKey);
  if (!file || key == std::string::npos) return 0;
  std::string_view version = std::string_view(tail).substr(key + kKey.size());
  return static_cast<int>(take_integer(version).value_or(0));
}

double days_since(std::filesystem::file_time_type written) {
  const std::chrono::duration<double, std::ratio<86'400>> age = std::filesystem::file_time_type::clock::now() - written;
  return std::max(0.0, age.count());
}

// The folder, or the nearest one above it that exists: there it would be made.
bool is_writable(std::filesystem::path folder) {
  std::error_code ignored;
  while (!std::filesystem::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

CachedProfile look_into(const std::filesystem::directory_entry& entry, const std::vector<std::string>& fingerprints) {
  std::error_code ignored;
  CachedProfile found{.path = entry.path(),
                      .bytes = static_cast<Bytes>(entry.file_size(ignored)),
                      .days = days_since(entry.last_write_time(ignored))};
  found.version = version_at_the_end(found.path, found.bytes);
  for (const std::string& fingerprint : fingerprints) {
    if (ProfileCache::path_for(fingerprint, found.path.parent_path()) != found.path) continue;
    found.of_this_machine = true;
    const ProfileCache cache = ProfileCache::open(fingerprint, found.path.parent_path());
    found.ops = cache.op_count();
    if (!cache.notes().empty() && found.version == kCacheFormatVersion) found.version = 0;  // damaged
  }
  return found;
}

}  // namespace

bool CachedProfile::stale() const { return version != kCacheFormatVersion; }

CacheInventory read_cache_inventory(const std::filesystem::path& folder, const std::vector<std::string>& fingerprints) {
  CacheInventory inventory{.folder = folder, .writable = is_writable(folder)};
  std::error_code missing;
  inventory.exists = std::filesystem::is_directory(folder, missing);
  if (!inventory.exists) return inventory;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (!entry.is_regular_file(missing)) continue;
    inventory.bytes += static_cast<Bytes>(entry.file_size(missing));
    const std::string name = entry.path().filename().string();
    if (name.starts_with("profile-") && name.ends_with(".json")) {
      inventory.profiles.push_back(look_into(entry, fingerprints));
    }
  }
  std::ranges::sort(inventory.profiles, {}, &CachedProfile::path);
  return inventory;
}

}  // namespace sluice::profile
