// Where this user's caches of measurements lie: $XDG_CACHE_HOME/sluice, else ~/.cache/sluice, where ~ is $HOME and, without
// it, what the system's list of users says. A relative path in either variable counts as none: a cache never lies in the
// folder that one happens to work in.
#pragma once

#include <filesystem>

namespace sluice {

// Empty where there is no such place: then nothing is kept.
std::filesystem::path cache_folder();

}  // namespace sluice
