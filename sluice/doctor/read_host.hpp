// Looks at this host: reads /proc and /sys, makes a ring and a file of 64 MiB, watches the processors for a fifth of a
// second. Under three seconds in all, as nothing here waits for anything slower; nothing is left behind.
#pragma once

#include <filesystem>
#include <string>

#include "sluice/doctor/host_facts.hpp"

namespace sluice::doctor {

struct WhereToLook {
  std::string spill_path;              // as SpillFile::open() takes it
  std::filesystem::path cache_folder;  // of profile caches
};

HostFacts read_host(const WhereToLook& where);

}  // namespace sluice::doctor
