// What the file tier would get where it is to lie: room, O_DIRECT, and a first idea of its speed.
#pragma once

#include <string>

#include "sluice/doctor/host_facts.hpp"

namespace sluice::doctor {

// Writes and reads at most 64 MiB for at most a quarter of a second each, one request at a time: less than what io_uring
// reaches with many in flight (sluice machine), and more than a disk keeps up for long.
StorageFacts read_storage(const std::string& path);

}  // namespace sluice::doctor
