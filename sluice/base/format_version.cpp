#include "sluice/base/format_version.hpp"

#include <fmt/format.h>

namespace sluice {

std::string describe_version(int found, const KnownVersions& known) {
  const std::string read = known.oldest == known.newest ? fmt::format("{}", known.newest)
                                                        : fmt::format("{} to {}", known.oldest, known.newest);
  const bool newer = found > known.newest;
  return fmt::format("found {}, and this sluice reads {}: the file is of {} sluice; {}{}", found, read,
                     newer ? "a newer" : "an older", known.again, newer ? ", or read it with that one" : "");
}

Result<int> read_version(const JsonReader& document, const KnownVersions& known) {
  int found = 0;
  SLUICE_RETURN_IF_ERROR(document.read("version", found));
  if (found >= known.oldest && found <= known.newest) return found;
  return document.error("version", describe_version(found, known));
}

Status check_version(const JsonReader& document, const KnownVersions& known) {
  SLUICE_RETURN_IF_ERROR(read_version(document, known));
  return {};
}

Result<int> read_format(const JsonReader& document, std::string_view format, std::string_view what,
                        const KnownVersions& known) {
  std::string found;
  if (document.has("format")) SLUICE_RETURN_IF_ERROR(document.read("format", found));
  if (found == format) return read_version(document, known);
  return document.error("format", fmt::format("not {}: expected \"{}\", found {}", what, format,
                                              found.empty() ? "none" : fmt::format("\"{}\"", found)));
}

}  // namespace sluice
