// A machine: tiers, and directed links between them.
//
// Tier 0 is the fastest. Each number says where it came from (Provenance). Hardware that is imitated is marked
// `emulated`, and every output that shows it says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/processor_id.hpp"
#include "sluice/base/units.hpp"
#include "sluice/memory/tier_kind.hpp"

namespace sluice::memory {

using TierId = std::int32_t;
using LinkId = std::int32_t;

inline constexpr TierId kFastTier = 0;

// Every arena offset is a multiple of this: a page, and what O_DIRECT needs.
inline constexpr Bytes kBlockAlignment = 4 * kKiB;
inline constexpr Bytes kHugePage = 2 * kMiB;  // the kernel's

enum class Provenance { kGiven, kMeasured, kEmulated, kFirmware };

// Who moves the bytes of a link: a processor, busy as long as it takes, or a device beside it.
enum class CopiedBy { kProcessor, kDma };

struct Tier {
  std::string name;  // "dram", "file", "optane"
  TierKind kind = TierKind::kDram;
  Bytes capacity = 0;
  BytesPerSecond read_bandwidth = 0;   // in order, of whoever addresses the tier directly
  BytesPerSecond write_bandwidth = 0;  // in whole granules
  Bytes granule = 64;                  // what the device writes at once; a single cache line costs it a whole granule
  Seconds latency = 0;                 // of one read that nothing foresees
  bool addressable = true;             // may what computes use its bytes in place?
  std::string path = {};               // of a tier in a file: where
  int node = -1;                       // of a memory node's tier: which
  Provenance provenance = Provenance::kGiven;

  bool emulated() const { return kind->emulated; }
};

struct Link {
  TierId from = 0;
  TierId to = 0;
  BytesPerSecond bandwidth = 0;  // of large transfers; the throttled figure when throttled
  // The same while the link back (the one between the same tiers the other way) is busy too: both may go to one disk.
  // Not above `bandwidth`. 0: neither slows the other down.
  BytesPerSecond shared_bandwidth = 0;
  Seconds latency = 0;               // of one transfer, added once
  Seconds interference = 0;          // compute time lost for every byte moved meanwhile: shared memory, caches, cores
  Seconds request_interference = 0;  // and for every request: what submits and completes it takes a core for a moment
  Bytes request_bytes = 4 * kMiB;    // a transfer is cut into requests of this size
  int queue_depth = 16;              // requests in flight
  bool throttled = false;            // bandwidth is imposed by us: shown as emulated
  CopiedBy copied_by = CopiedBy::kProcessor;
  Provenance provenance = Provenance::kGiven;
};

// The bandwidth that copies over this link are slowed down to; 0: they are not slowed down.
inline BytesPerSecond held_bandwidth(const Link& link) {
  return link.throttled && link.copied_by == CopiedBy::kProcessor ? link.bandwidth : 0;
}

// Who computes: one team of threads, and the memory that it may use in place.
struct Processor {
  std::string name;  // "device", "host"
  int threads = 1;
  std::vector<TierId> tiers = {};  // that it addresses; empty: all that are addressable
  bool emulated = false;           // cores of the host, set aside to stand for another processor
  std::string backend{kDefaultBackend};
  bool operator==(const Processor&) const = default;
};

struct Machine {
  std::string cpu;  // model name, cores
  int threads = 1;  // compute threads of the main processor
  // By ProcessorId; none: the CPU alone, with `threads`. The first one has as many threads as `threads` says.
  std::vector<Processor> processors;
  // The bytes of the caches between the compute threads and memory that a working set can count on
  // (profile/cache_model.hpp).
  Bytes cache_bytes = 0;
  std::vector<Tier> tiers;
  std::vector<Link> links;

  const Tier& tier(TierId id) const { return tiers.at(as_index(id)); }
  const Link& link(LinkId id) const { return links.at(as_index(id)); }
  std::size_t processor_count() const { return processors.empty() ? 1 : processors.size(); }
  int threads_of(ProcessorId id) const;
  // May what runs there use bytes of this tier in place?
  bool addresses(ProcessorId id, TierId tier) const;
  // Is it that processor's own memory, which others cannot reach (host memory behind a device's link)? It works there as the
  // main processor does in fast memory.
  bool owns(ProcessorId id, TierId tier) const;

  std::optional<LinkId> link_between(TierId from, TierId to) const;
  std::optional<LinkId> link_back(LinkId id) const { return link_between(link(id).to, link(id).from); }

  // What the main processor's times depend on: CPU and threads. Key of what has been measured.
  std::string compute_fingerprint() const;
  // What a plan depends on: the above, plus the other processors, and kinds, addressability and order of the tiers.
  // Measured bandwidths are left out: they drift from run to run, and a plan stays valid (if not optimal) when they do.
  std::string fingerprint() const;

 private:
  bool lists(ProcessorId id, TierId tier) const;
};

std::string_view to_string(Provenance provenance);
std::string_view to_string(CopiedBy copied_by);

}  // namespace sluice::memory
