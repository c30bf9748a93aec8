// Profiles any training loop, not only Sluice's: how often each of its buffers is touched in main memory, and over
// which layers it lives. It offers the three calls of Sentinel (§VI), and allocation through Sluice. Allocation puts
// every buffer on pages of its own, so that page counts are buffer counts (§III-A).
//
//   void* weights = allocate_tracked(bytes, "weights").value();
//   ... a few steps, so that caches and thread pools are warm ...
//   start_profile();
//   for (each layer, forward and backward) {
//     ... compute, allocate_tracked(), release_tracked() ...
//     add_layer();                     // at the end of every layer
//   }
//   TrainingProfile profile = end_profile().value();
//
// One step is enough, because steps are alike. Meanwhile tracked buffers are protected (page_tracker.hpp): each first
// touch of a page costs about 5 us, and system calls that are given their addresses fail with EFAULT, so read files
// into other memory, or before start_profile(). Outside a profile buffers are ordinary memory.
//
// Threads that run generated code (oneDNN's kernels, say) call give_fault_stack() of fault_stack.hpp first.
//
// Any thread may touch buffers, allocate and release. While start_profile() or end_profile() runs, no other thread may
// touch a tracked buffer. No thread may touch a buffer that is being released. A process has one profile at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"

namespace sluice::profile {

struct TrainingProfileOptions {
  int threads = 1;          // that touch buffers at once
  Bytes tlb_reach = 0;      // of the software TLB; 0: the processor's, of one core for each thread
  Bytes largest_chunk = 0;  // buffers above 16 of these are tracked in chunks of it; 0: every page by itself
};

struct BufferRecord {
  std::string name;
  Bytes bytes = 0;
  int first_layer = 0;  // lives over layers [first_layer, end_layer); a buffer that outlives the profile ends with it
  int end_layer = 0;
  std::int64_t reads = 0;  // in pages of 4 KiB
  std::int64_t writes = 0;

  std::int64_t pages() const;
  double accesses_per_page() const;
};

struct TrainingProfile {
  int layers = 0;
  Bytes tlb_reach = 0;
  Seconds seconds = 0;                // from start_profile() to end_profile()
  std::vector<BufferRecord> buffers;  // in the order of their allocation
  std::vector<std::string> notes;     // what makes the counts less than they seem
};

// A buffer of zeros on whole pages of its own. kBadInput below one byte, kOutOfSpace when there is no memory, and the
// errors of watching it while a profile is under way.
Result<void*> allocate_tracked(Bytes bytes, std::string name);
// kBadInput for what allocate_tracked() did not return.
Status release_tracked(void* buffer);

Status start_profile(const TrainingProfileOptions& options = {});  // kBadInput: one is under way, or bad options
void add_layer();                                                  // the layer ends here; nothing without a profile
Result<TrainingProfile> end_profile();                             // kBadInput without a start

}  // namespace sluice::profile
