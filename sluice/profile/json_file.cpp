#include "sluice/profile/json_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

namespace sluice {

Status replace_json_file(const std::filesystem::path& path, const nlohmann::json& document, std::string_view what) {
  const std::filesystem::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  {
    std::ofstream file(temporary);
    file << document.dump(1) << '\n';
    file.close();
    if (!file) {
      std::filesystem::remove(temporary, failed);
      return Error{ErrorCode::kIo,
                   fmt::format("cannot write {} {}: check that its folder is writable and has room, or set "
                               "XDG_CACHE_HOME to one that is",
                               what, path.string())};
    }
  }
  std::filesystem::rename(temporary, path, failed);
  if (failed) return Error{ErrorCode::kIo, fmt::format("cannot replace {}: {}", path.string(), failed.message())};
  return {};
}

}  // namespace sluice
