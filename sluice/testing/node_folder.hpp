// A folder like /sys/devices/system/node in the test's temporary folder, with what a test wants firmware to say.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sluice/base/check.hpp"

namespace sluice::testing {

class NodeFolder {
 public:
  NodeFolder() {
    std::string name = ::testing::TempDir() + "nodes-XXXXXX";
    SLUICE_CHECK(::mkdtemp(name.data()) != nullptr, "a temporary folder");
    path_ = name;
  }
  ~NodeFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  NodeFolder(const NodeFolder&) = delete;
  NodeFolder& operator=(const NodeFolder&) = delete;

  // `values`: read and write bandwidth, read and write latency; as many as there are.
  void write(int node, const std::string& access, const std::vector<int>& initiators,
             const std::vector<std::string>& values) const {
    constexpr std::array kFiles{"read_bandwidth", "write_bandwidth", "read_latency", "write_latency"};
    const auto folder = path_ / fmt::format("node{}", node) / access / "initiators";
    for (const int initiator : initiators)
      std::filesystem::create_directories(folder / fmt::format("node{}", initiator));
    for (std::size_t i = 0; i < values.size(); ++i) std::ofstream(folder / kFiles.at(i)) << values[i] << '\n';
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sluice::testing
