// What was found on a host that matters to training here. Plain data, so that what is made of it (checks.hpp) can be
// tested for machines that nobody has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sluice/base/units.hpp"
#include "sluice/kernels/onednn/onednn_facts.hpp"
#include "sluice/memory/gpu_facts.hpp"
#include "sluice/memory/transfer/uring_support.hpp"
#include "sluice/profile/cache_inventory.hpp"

namespace sluice::doctor {

struct KernelFacts {
  std::string release;     // "6.1.0-18-amd64"
  std::string huge_pages;  // the word chosen in transparent_hugepage/enabled; empty: this kernel has none
  memory::UringSupport uring;
};

struct LimitFacts {  // nothing: no limit
  std::optional<Bytes> locked_memory, file_size, group_memory;
  std::optional<double> group_processors;  // that the control group's quota is worth
  std::optional<std::int64_t> open_files;
};

struct ProcessorFacts {
  std::string name;
  int online = 0;           // in the machine
  int allowed = 0;          // that this process may run on
  double busy = 0;          // of them, now, by other work
  std::string omp_threads;  // OMP_NUM_THREADS; empty: not set
  int nodes = 1;            // of memory
};

struct MemoryFacts {
  Bytes total = 0;
  Bytes available = 0;
};

struct StorageFacts {
  std::string path;     // folder or file of the file tier
  std::string failure;  // why nothing can be written there; then the rest is not known
  Bytes free = 0;
  bool in_memory = false;              // tmpfs
  bool direct = false;                 // O_DIRECT in force
  BytesPerSecond read = 0, write = 0;  // one request of 1 MiB at a time
};

struct HostFacts {
  KernelFacts kernel;
  LimitFacts limits;
  ProcessorFacts processors;
  MemoryFacts memory;
  StorageFacts storage;
  kernels::OneDnnFacts onednn;
  profile::CacheInventory cache;
  std::optional<memory::GpuFacts> gpu;
  std::string no_gpu;  // why none
  bool mpi = false;
};

}  // namespace sluice::doctor
