// What `sluice COMMAND --json FILE` writes: a document that says what it is and in which version (docs/json.md), so that a
// reader can refuse what it does not know.
//
//   {"format": "sluice-json", "version": 2, "command": "plan", "run": {...}, ...}
//
// FILE may be "-", standard output. Then the document is all that stands there: keep_output_for_documents() sends what is
// printed for people to standard error.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sluice/base/result.hpp"

namespace sluice::report {

inline constexpr std::string_view kStandardOutput = "-";

// With what it is: "format", "version" and "command".
nlohmann::json stamped_document(std::string_view command, nlohmann::json document);

// Stamped. Nothing where `path` is empty: nobody asked. Files are written whole or not at all (base/atomic_file.hpp).
Status write_document(const std::string& path, std::string_view command, nlohmann::json document);

// What stopped a command, where its document would be: on standard output if none has been written there, in a file if
// there is none yet. Results of an earlier run, or those that this one has so far, stay.
Status write_error_document(const std::string& path, std::string_view command, const nlohmann::json& error);

// From now on standard output is for documents alone. `silent`: what else is printed goes nowhere.
Status keep_output_for_documents(bool silent);

}  // namespace sluice::report
