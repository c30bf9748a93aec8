// What the control group of this process (a container's, a service's) allows: memory and processor time, of version 2 and
// of version 1. The tightest of the group and all above it counts. Version 2's memory.high, beyond which the kernel slows a
// program down until it stands, counts as its memory.max.
#pragma once

#include <filesystem>
#include <optional>

#include "sluice/base/units.hpp"

namespace sluice {

struct GroupLimits {
  std::optional<Bytes> memory;
  std::optional<Bytes> swap;  // beside that memory
  std::optional<double> processors;
};

// `root`: where proc and sys are; a test's folder, else "/".
GroupLimits read_group_limits(const std::filesystem::path& root = "/");

}  // namespace sluice
