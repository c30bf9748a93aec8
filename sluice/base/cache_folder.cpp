#include "sluice/base/cache_folder.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace sluice {
namespace {

// Empty where the variable is not set or names no absolute path.
std::filesystem::path path_in(const char* variable) {
  const char* const value = std::getenv(variable);
  const std::filesystem::path path = value == nullptr ? "" : value;
  return path.is_absolute() ? path : std::filesystem::path();
}

std::filesystem::path listed_home() {
  struct passwd entry {};
  struct passwd* found = nullptr;
  std::array<char, 4096> text{};
  if (::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr) return {};
  const std::filesystem::path home = found->pw_dir == nullptr ? "" : found->pw_dir;
  return home.is_absolute() ? home : std::filesystem::path();
}

}  // namespace

std::filesystem::path cache_folder() {
  if (const auto cache = path_in("XDG_CACHE_HOME"); !cache.empty()) return cache / "sluice";
  std::filesystem::path home = path_in("HOME");
  if (home.empty()) home = listed_home();
  return home.empty() ? home : home / ".cache" / "sluice";
}

}  // namespace sluice
