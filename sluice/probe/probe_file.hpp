// Measures the links of a file tier as a step uses them: each by itself, both directions at once, and what they cost
// compute.
//
//   beside compute   parallel regions keep every compute thread busy all the time (compute_load.hpp): completions wait
//                    for a core, and what serves them delays the barrier
//   as a lane        transfers of 4 MiB, two under way (probe_stream.hpp)
//   sustained        a disk's cache, its host's above all, takes bursts at several times the disk's speed. Both
//                    directions run until a second and a half goes on as it began (at most four seconds); each by
//                    itself follows, while that cache is full
//   cost to compute  how many regions fewer are done in the windows of one link by itself than in windows without any, of
//                    large transfers and of small ones: a part for every byte, the rest for every request. Windows are
//                    means and long ones: where the host serves the disk on the processors that it gave this machine, it
//                    takes them away for 30 ms at a time, and most regions are as fast as ever. (One host's disk took
//                    300 ms of two cores per GB, and nothing where compute left one of them free.)
//
// The file is 1 GiB (the tier's capacity if that is less), and is written once before anything is measured. All links
// get requests of one size and number, as training uses them. Takes 9 to 14 s.
//
// A short look has one window of each, a file of 128 MiB and requests that are usual; small transfers are left out.
#pragma once

#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::probe {

struct FileLinkFigures {
  Bytes request_bytes = 0;
  int queue_depth = 0;
  BytesPerSecond alone = 0;
  BytesPerSecond shared = 0;  // while the link back is busy too, never above `alone`; equal to it without a link back
  Seconds latency = 0;        // what each transfer adds to a stream of them; not in `alone`
  Seconds lost_per_byte = 0;  // by compute
  Seconds lost_per_request = 0;
};

// How thoroughly links are measured.
struct FileProbing {
  Bytes file_bytes = kGiB;
  bool thorough = true;  // requests are chosen, and small transfers tried
  Seconds window = 0.5;
  Seconds alone = 0.3;  // beyond the periods of 0.1 s in which hosts share out their processors
  int most_windows = 8;
  int most_windows_alone = 4;  // the caches are full by then
};
inline constexpr FileProbing kFullFileProbing;
inline constexpr FileProbing kShortFileProbing{.file_bytes = 128 * kMiB,
                                               .thorough = false,
                                               .window = 0.2,
                                               .alone = 0.1,
                                               .most_windows = 1,
                                               .most_windows_alone = 1};

// By `links`: those between one file tier and one memory tier, one each way or only one of them. Throttles are ignored.
Result<std::vector<FileLinkFigures>> measure_file_links(const memory::Machine& machine,
                                                        const std::vector<memory::LinkId>& links,
                                                        const FileProbing& how);

}  // namespace sluice::probe
