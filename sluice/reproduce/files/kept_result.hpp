// How a kept result (docs/results/NAME.json and NAME.txt) is made, as benchmarks/kept/*.json says it (docs/reproduce.md
// shows the file). Words of commands may hold places that are put in when it is made:
//
//   $sluice   this command           $out      the JSON file to write         $picture  an SVG file to write
//   $root     the checkout           $spill    a folder for large files       $name     the result's name
//   $folder   the folder of $out; all files in it are kept
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/json_reader.hpp"
#include "sluice/base/result.hpp"

namespace sluice {

using CommandWords = std::vector<std::string>;

enum class HowMade { kExecuted, kSimulated, kBoth };
std::string_view to_string(HowMade how);

// What the machine has to have: a name for people, and a command that succeeds where it is there.
struct KeptNeed {
  std::string what;
  CommandWords check;
};

struct KeptResult {
  std::string name;
  HowMade how = HowMade::kExecuted;
  std::string emulated;               // what is, where the JSON itself does not say so
  std::vector<std::string> measures;  // paths of code, or names of sets of them (measured_code.hpp); empty: by default
  std::string note;                   // kept in the .txt
  std::vector<CommandWords> before;
  CommandWords command;
  double minutes = 0;         // about, on two idle cores
  std::string only_if_asked;  // why it is not one of `all`
  std::vector<KeptNeed> needs;
  std::filesystem::path file;  // that says so

  bool writes(std::string_view place) const;  // whether a word of the command has it: "$out"
};

Status read_json(const JsonReader& reader, KeptResult& result);

// All entries of one file, `each` expanded.
Result<std::vector<KeptResult>> read_kept_results(const std::filesystem::path& file);
Result<std::vector<KeptResult>> kept_results_of(const nlohmann::json& document);

// Known $places in a text; those of a command are put in by fill_places().
struct Places {
  std::string sluice, out, picture, folder, root, spill, name;
};
std::string fill_places(std::string_view text, const Places& places);

}  // namespace sluice
