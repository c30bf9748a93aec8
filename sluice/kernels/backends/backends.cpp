#include "sluice/kernels/backends/backends.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace sluice::kernels {

std::span<const BackendEntry> backends() {
  static constexpr auto kTable = std::to_array<BackendEntry>({
      {kDefaultBackend, make_onednn_backend},
      {"reference", make_reference_backend},
      {"cuda", make_cuda_backend},
  });
  return kTable;
}

Result<std::unique_ptr<Backend>> make_backend(std::string_view name) {
  const auto found = std::ranges::find(backends(), name, &BackendEntry::name);
  if (found != backends().end()) return found->make();
  std::vector<std::string_view> known;
  for (const BackendEntry& each : backends()) known.push_back(each.name);
  const std::string_view last = known.back();
  known.pop_back();
  return bad_input(fmt::format("there is no backend '{}'; there are {} and {}", name, fmt::join(known, ", "), last));
}

}  // namespace sluice::kernels
