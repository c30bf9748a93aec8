#include "sluice/report/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace sluice {

Status write_text_file(const std::string& path, std::string_view text) {
  const std::string partial = path + ".partial";
  std::ofstream file(partial);
  file << text;
  file.close();
  if (!file || std::rename(partial.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    std::remove(partial.c_str());
    return Error{ErrorCode::kIo, fmt::format("cannot write {}: {}", path, std::strerror(reason))};
  }
  return {};
}

}  // namespace sluice
