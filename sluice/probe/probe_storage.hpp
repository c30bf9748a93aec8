// What the links of a file tier are measured on: a file that was written once, and an arena.
#pragma once

#include "sluice/probe/probe_stream.hpp"

namespace sluice::probe {

class ProbeStorage {
 public:
  // For `link` and its link back. The arena is 128 MiB; it and the file are no larger than their tiers.
  static Result<ProbeStorage> open(const memory::Machine& machine, const memory::Link& link, Bytes file_bytes);

  // Part `part` of `parts` equal ones, of both; all of them one page where there are not so many.
  StreamRoom room(int part, int parts) const;

  const memory::TierStorages& storages() const { return storages_; }

 private:
  Status write_file_once() const;

  memory::TierStorages storages_;
  memory::TierId file_tier_ = 0;
  Bytes in_file_ = 0;
  Bytes in_memory_ = 0;
};

}  // namespace sluice::probe
