// What the words of a command line mean: `all`, a paper's name, an item's id, a kept result's name
// or the beginning of some with a * behind it.
#pragma once

#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/reproduce/files/catalog.hpp"

namespace sluice {

struct Selection {
  std::vector<const PaperItem*> items;
  std::vector<std::string> kept;   // what these items read and what is asked for by name; with `all` everything
  std::vector<std::string> asked;  // of these, what was asked for by name
  bool all = false;
};

// kBadInput for a word that is none of them; the error names what is like it.
Result<Selection> select(const Catalog& catalog, const std::vector<std::string>& words);

}  // namespace sluice
