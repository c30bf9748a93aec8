// What stopped a command, as data: in the document that --json names (docs/json.md), for programs that call it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;       // of CLI11, whose header takes two seconds to compile
}

namespace sluice::cli {

// Where to write it, known before anything is parsed, because parsing may be what fails.
struct ErrorDestination {
  std::string path;     // empty: nobody asked
  std::string command;  // "plan"; "sluice" where none was named
};
ErrorDestination find_error_destination(const CLI::App& app, const std::vector<std::string>& arguments);

// {"kind": "infeasible", "message": ..., "requested_bytes": number or null, "available_bytes": number or null}
nlohmann::json to_json(const Error& error);

// A broken invariant of ours.
nlohmann::json internal_error(const std::string& message);

}  // namespace sluice::cli
