// What kept results need of this machine, and whether it has that: a GPU, PyTorch, a browser.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "sluice/reproduce/files/kept_result.hpp"

namespace sluice {

class KeptNeeds {
 public:
  // `root`: the checkout, where checks run. `spill`: $spill.
  KeptNeeds(std::filesystem::path root, std::filesystem::path spill)
      : root_(std::move(root)), spill_(std::move(spill)) {}

  // What the result needs and this machine has not; empty where there is nothing. A check runs a program, once for each
  // need. Nothing is written.
  std::string lacks(const KeptResult& result);

 private:
  bool has(const KeptNeed& need) const;

  std::filesystem::path root_, spill_;
  std::map<std::string, bool> checked_;  // by what is needed
};

}  // namespace sluice
