// Everything that `sluice reproduce` finds in a checkout: benchmarks/kept/*.json, benchmarks/papers/*.json and
// benchmarks/measured_code.json. The errors of all files come together, a line each, so that they can be mended at
// once.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/reproduce/files/kept_result.hpp"
#include "sluice/reproduce/files/measured_code.hpp"
#include "sluice/reproduce/files/paper_item.hpp"

namespace sluice {

struct Catalog {
  std::filesystem::path root;
  std::map<std::string, KeptResult> kept;  // by name
  std::vector<PaperItem> items;            // by paper, then figures before tables, by number
  MeasuredCode code;

  std::filesystem::path results() const { return root / "docs" / "results"; }
  const KeptResult* find_kept(const std::string& name) const;
};

Result<Catalog> read_catalog(const std::filesystem::path& root);

// The checkout that `from` is in: the nearest folder upwards with benchmarks/kept. kBadInput where there is none.
Result<std::filesystem::path> find_root(const std::filesystem::path& from);

}  // namespace sluice
