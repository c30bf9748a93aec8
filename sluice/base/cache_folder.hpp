// Where this user's caches of measurements lie: $XDG_CACHE_HOME/sluice, else ~/.cache/sluice.
#pragma once

#include <filesystem>

namespace sluice {

std::filesystem::path cache_folder();

}  // namespace sluice
