// Measures the links of a file tier: each by itself, then both directions at once.
//
// The file is 1 GiB (the tier's capacity if that is less), because shorter bursts show a disk's cache, not the disk. It
// is written once before anything is measured. All compute threads are kept busy, as they are in training. Both
// directions at once come last, when the disk's cache is full. All links get requests of one size and number, as
// training uses them, with which each link reaches its best. Takes 1 to 3 s on a fast disk. On a slow one fewer
// combinations of requests are tried, and both directions at once take at most 3 s.
#pragma once

#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice {

struct FileLinkFigures {
  Bytes request_bytes = 0;
  int queue_depth = 0;
  BytesPerSecond alone = 0;
  BytesPerSecond shared = 0;  // while the link back is busy too, never above `alone`; equal to it without a link back
  Seconds latency = 0;        // what each transfer adds to a stream of them
};

// By `links`: those between one file tier and one memory tier, one each way or only one of them. Throttles are ignored.
Result<std::vector<FileLinkFigures>> measure_file_links(const Machine& machine, const std::vector<LinkId>& links);

}  // namespace sluice
