#include "sluice/policies/builtin.hpp"

namespace sluice {

// Sources of the figures: the policies' own files.
const std::vector<PolicyEntry>& policies() {
  static const PolicyTuning by_page{};
  static const PolicyTuning ial{.scan_period = 0.05, .copy_threads = 4, .concurrent_migrations = 8};
  static const PolicyTuning oim{.scan_period = 5, .copy_threads = 4, .concurrent_migrations = 8};
  static const PolicyTuning by_line{.page_bytes = 64};
  static const PolicyTuning um{.page_bytes = 64 * kKiB, .fault_seconds = 30e-6, .fault_bytes = 2 * kMiB};
  static const std::vector<PolicyEntry> table{
      {"numa-first-touch", "a page goes to fast memory while there is room, and stays where it is", true, by_page,
       make_first_touch},
      {"ial", "active and inactive lists of pages, exchanged in short passes (Nimble, as in Sentinel VII)", true, ial,
       make_ial},
      {"oim", "the same lists, one pass every 5 s, no exchange (Nimble, as in ReDL IV)", true, oim, make_oim},
      {"memory-mode", "fast memory as a direct-mapped hardware cache of 64-byte lines", true, by_line,
       make_memory_mode},
      {"um", "unified memory: fault on demand, evict the least recently used", false, um, make_um},
      {"um-prefetch", "the same, the next layer's operands asked for ahead", false, um, make_um_prefetch},
  };
  return table;
}

}  // namespace sluice
