#include "sluice/base/cache_folder.hpp"

#include <cstdlib>

namespace sluice {

std::filesystem::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::filesystem::path(cache) / "sluice";
  }
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : ".") / ".cache" / "sluice";
}

}  // namespace sluice
