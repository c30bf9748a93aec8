#include "sluice/memory/numa_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "sluice/base/parse.hpp"

namespace sluice::memory {
namespace {

constexpr BytesPerSecond kMegabytePerSecond = 1e6;
constexpr Seconds kNanosecond = 1e-9;

// 0 where the file is missing, as the kernel writes for what the firmware leaves out.
Result<double> read_number(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return 0.0;
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const Result<std::int64_t> number = parse_integer(text, 0, std::numeric_limits<std::uint32_t>::max());
  if (number.ok()) return static_cast<double>(*number);
  return Error{ErrorCode::kIo, fmt::format("{} does not hold a number but '{}'", path.string(), text.substr(0, 40))};
}

bool all_are_initiators(const std::filesystem::path& initiators, std::span<const int> computing) {
  return std::ranges::all_of(computing, [&](int node) {
    std::error_code ignored;
    return std::filesystem::exists(initiators / fmt::format("node{}", node), ignored);
  });
}

}  // namespace

Result<std::optional<NodeFigures>> read_node_figures(int node, std::span<const int> computing,
                                                     const std::filesystem::path& nodes) {
  // access0: the nearest initiators of any kind, devices too; access1: the nearest with processors.
  for (const char* const access : {"access0", "access1"}) {
    const std::filesystem::path initiators = nodes / fmt::format("node{}", node) / access / "initiators";
    if (computing.empty() || !all_are_initiators(initiators, computing)) continue;
    SLUICE_ASSIGN(const double read_bandwidth, read_number(initiators / "read_bandwidth"));
    SLUICE_ASSIGN(const double write_bandwidth, read_number(initiators / "write_bandwidth"));
    SLUICE_ASSIGN(const double read_latency, read_number(initiators / "read_latency"));
    SLUICE_ASSIGN(const double write_latency, read_number(initiators / "write_latency"));
    if (std::min({read_bandwidth, write_bandwidth, read_latency, write_latency}) <= 0) continue;
    return std::optional(NodeFigures{read_bandwidth * kMegabytePerSecond, write_bandwidth * kMegabytePerSecond,
                                     read_latency * kNanosecond, write_latency * kNanosecond});
  }
  return std::optional<NodeFigures>();
}

}  // namespace sluice::memory
