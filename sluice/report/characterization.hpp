// What the papers observe about a training step before they plan it, for any executable graph: Sentinel §III-B
// (observations 1 to 3) and §IV-E (the lower bound on fast memory), ReDL §II-B (figures 2 and 3).
//
// "Layers" are the layer spans of liveness.hpp, so a step has about twice as many as the model. Tensors are those of
// the executable graph that some op uses. Bytes of a group of tensors are summed whether or not they live at once,
// except where "peak" or "live" is said. Accesses are in pages touched (access_profile.hpp).
//
// Pure functions; O(tensors log tensors + uses), false sharing O(tensors x tensors that share an address) at worst.
// Thread-safe.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sluice/graph/fast_memory_bound.hpp"
#include "sluice/layout/page_layout.hpp"
#include "sluice/profile/access_profile.hpp"

namespace sluice::report {

struct TensorGroup {
  std::int64_t tensors = 0;
  Bytes bytes = 0;

  void add(Bytes tensor_bytes);
  bool operator==(const TensorGroup&) const = default;
};

// Small: below one page.
struct BySize {
  TensorGroup small, large;

  void add(Bytes tensor_bytes);
  TensorGroup all() const { return {small.tensors + large.tensors, small.bytes + large.bytes}; }
  bool operator==(const BySize&) const = default;
};

// A range of lifetimes or distances, in layers.
struct LayerBucket {
  std::string name;  // "2-8"
  Interval<int> layers;
};

// ReDL's ranges 1, 2-8, 9-24, 25-40, 41-56, 57-64 are for a step of 64 layers; here all but the first are scaled to
// `layers`, so that they cut a step in the same proportions. Short steps have fewer of them: never an empty one.
std::vector<LayerBucket> layer_buckets(int layers);

// Observation 1, and ReDL's figure 2.
struct Lifetimes {
  BySize short_lived, long_lived, persistent;  // `persistent` ones are among the long-lived, too
  struct Row {
    LayerBucket bucket;
    BySize tensors;
  };
  std::vector<Row> rows;  // of all tensors; the last row holds the persistent ones, which outlive the step
};

// ReDL's figure 3: how many layers lie between a use of a tensor and the use before it. The first use of a persistent
// tensor follows its last use in the step before; that of any other follows nothing and is counted apart.
struct Distances {
  struct Row {
    LayerBucket bucket;  // the first one holds uses in the same layer: distance 0
    std::int64_t uses = 0;
    Bytes bytes = 0;            // of the tensors used, once per use
    std::int64_t accesses = 0;  // of those uses; 0 without a profile
  };
  std::vector<Row> rows;
  Row first_uses;
};

// Observation 2: tensors by the accesses of their average page, with the paper's bounds.
enum class Heat { kCold, kWarm, kHot };  // below 10; 10 to 100; above 100
inline constexpr std::size_t kHeats = 3;
Heat heat_of(double accesses_per_page);

struct HotAndCold {
  struct Row {
    TensorGroup tensors;
    Bytes peak = 0;  // of those that live at once
    std::int64_t accesses = 0;
  };
  std::array<Row, kHeats> rows;  // by Heat
};

// Observation 3: what a system that counts accesses by page sees when tensors lie where a framework's allocator puts
// them. The accesses of a page are those of all tensors that lie on it during the step, so a page seems at least as hot
// as any of its tensors. (Two tensors touched while the TLB holds their page would count as one access to it, so these
// counts are upper bounds.)
struct FalseSharing {
  std::array<Bytes, kHeats> tensor_bytes{};                  // by the tensors' own heat
  std::array<Bytes, kHeats> page_bytes{};                    // by the pages' heat; whole pages
  std::array<std::array<Bytes, kHeats>, kHeats> bytes_of{};  // [heat of the tensor][heat of its page]
  Bytes misclassed = 0;                                      // bytes of tensors whose page has another heat
  Bytes misclassed_together = 0;  // because of tensors that live on the page at the same time; the others because
                                  // the page was used again for tensors that come later
};

struct LiveBytes {
  std::vector<Bytes> persistent, long_lived, short_lived;  // by OpIndex; `long_lived` without the persistent ones
  Bytes peak = 0;                                          // of all of them
  graph::OpIndex peak_op = 0;
};

struct Characterization {
  int layers = 0;  // of the step: layer spans
  Lifetimes lifetimes;
  Distances distances;
  LiveBytes live;
  graph::FastMemoryBound bound;
  std::optional<HotAndCold> heat;             // with a profile
  std::optional<FalseSharing> false_sharing;  // with a profile
};

// `accesses`: of this graph, or null.
Characterization characterize(const graph::Graph& graph, const graph::Liveness& liveness,
                              const profile::AccessProfile* accesses);

Lifetimes measure_lifetimes(const graph::Graph& graph, const graph::Liveness& liveness);
Distances measure_distances(const graph::Graph& graph, const graph::Liveness& liveness,
                            const profile::AccessProfile* accesses);
LiveBytes measure_live_bytes(const graph::Graph& graph, const graph::Liveness& liveness);
HotAndCold measure_heat(const graph::Graph& graph, const graph::Liveness& liveness,
                        const std::vector<profile::TensorAccesses>& accesses);
FalseSharing measure_false_sharing(const graph::Graph& graph, const graph::Liveness& liveness,
                                   const layout::PageLayout& layout,
                                   const std::vector<profile::TensorAccesses>& accesses);

}  // namespace sluice::report
