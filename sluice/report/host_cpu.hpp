// The processor that results were obtained on. A hypervisor may hide the model's name; family, model and stepping
// remain.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sluice/base/units.hpp"

namespace sluice::report {

struct HostCpu {
  std::string name;
  int family = 0, model = 0, stepping = 0;  // 0: not known
  int cores = 0;                            // online
  Bytes last_level_cache_bytes = 0;         // of one such cache as the kernel reports it; 0: not known
};

HostCpu read_host_cpu();

// "Intel(R) Xeon(R) Processor (family 6, model 207, stepping 2), 2 cores, last-level cache 260.0 MiB"
std::string describe_host_cpu(const HostCpu& processor);
nlohmann::json host_cpu_json(const HostCpu& processor);  // keys as the fields

}  // namespace sluice::report
