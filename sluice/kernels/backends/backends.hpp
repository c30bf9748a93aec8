// The backends there are: a table by name, in which a new one is a line.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "sluice/kernels/backend.hpp"
#include "sluice/kernels/cuda/cuda_backend.hpp"
#include "sluice/kernels/onednn/onednn_backend.hpp"
#include "sluice/kernels/reference/reference_backend.hpp"

namespace sluice::kernels {

struct BackendEntry {
  std::string_view name;
  std::unique_ptr<Backend> (*make)();
};

std::span<const BackendEntry> backends();
// kBadInput for an unknown name, listing the known ones.
Result<std::unique_ptr<Backend>> make_backend(std::string_view name);

}  // namespace sluice::kernels
