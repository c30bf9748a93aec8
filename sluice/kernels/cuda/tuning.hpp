// Which of several ways to compute the same is fastest on this GPU: tried once, remembered on disk.
//
// The order of ways decides which one runs, and so the bits of results. It is measured by the first process that needs
// it and kept in a file, so that all later ones compute the same bits: $XDG_CACHE_HOME/sluice (else ~/.cache/sluice),
// one file for each GPU and version of cuDNN. Where the file cannot be written, the order is the one that the libraries
// advise, which is the same in every process.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/units.hpp"

namespace sluice::kernels::cuda {

class TunedOrders {
 public:
  // `machine`: of the GPU and its libraries, as part of a file's name.
  explicit TunedOrders(const std::string& machine);

  // Names of the ways of the problem `key`, the best first; nothing where nobody has measured them.
  std::optional<std::vector<std::string>> find(const std::string& key) const;
  // False where it cannot be kept: then the order must not be used.
  bool keep(const std::string& key, const std::vector<std::string>& names);

 private:
  void read();
  bool write() const;

  std::filesystem::path file_;
  std::map<std::string, std::vector<std::string>> orders_;
};

}  // namespace sluice::kernels::cuda
