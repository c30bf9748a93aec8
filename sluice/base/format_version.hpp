// The versions of the files that we write. Each JSON file says in "format" what it is and in "version" which form of that;
// a reader refuses what it is not made for before it looks at anything else.
//
// Errors are kBadInput at the place in the document, say which version was found and which are read, and what to do:
//   /version: found 9, and this sluice reads 1 to 8: the file is of a newer sluice; plan again, or read it with that one
#pragma once

#include <string_view>

#include "sluice/base/json_reader.hpp"

namespace sluice {

// What `sluice COMMAND --json` writes (docs/json.md); "command" says of which command. Keys may be added within a version.
inline constexpr std::string_view kDocumentFormat = "sluice-json";
inline constexpr int kDocumentVersion = 2;

struct KnownVersions {
  int oldest = 1, newest = 1;
  std::string_view again;  // how to get one that can be read: "plan again"
};

Result<int> read_version(const JsonReader& document, const KnownVersions& known);
Status check_version(const JsonReader& document, const KnownVersions& known);

// Also where "format" names something else, or is missing: `what` is what was expected, "a plan".
Result<int> read_format(const JsonReader& document, std::string_view format, std::string_view what,
                        const KnownVersions& known);

// About a version that was read in another way, without the place.
std::string describe_version(int found, const KnownVersions& known);

}  // namespace sluice
