#include "sluice/layout/reorganize.hpp"

#include <algorithm>
#include <map>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"
#include "sluice/memory/allocators/best_fit_heap.hpp"
#include "sluice/memory/offsets/offset_allocator.hpp"

namespace sluice::layout {
namespace {

// First and last span in which a tensor is live.
std::vector<int> spans_of_life(const graph::Liveness& liveness, graph::TensorId id) {
  const Interval<graph::OpIndex> range = liveness.ranges[id];
  return {liveness.span_of_op[range.begin], liveness.span_of_op[range.end - 1]};
}

class Reorganizer {
 public:
  Reorganizer(const graph::Graph& graph, const graph::Liveness& liveness,
              std::span<const profile::TensorAccesses> accesses, const ReorganizeOptions& options)
      : graph_(graph), liveness_(liveness), accesses_(accesses), options_(options) {}

  std::vector<TensorBlock> run() {
    for (graph::TensorId id = 0; id < graph_.tensor_count(); ++id) {
      if (graph_.tensor(id).bytes == 0 || range(id).empty() || liveness_.uses[id].empty()) continue;
      group_for(id).tensors.push_back(id);
    }
    std::vector<TensorBlock> blocks = std::move(alone_);
    for (auto* groups : {&persistent_, &short_lived_, &long_lived_}) {
      for (auto& [spans, block] : *groups) blocks.push_back(std::move(block));
    }
    for (TensorBlock& block : blocks) arrange(block);
    return blocks;
  }

 private:
  using Groups = std::map<std::vector<int>, TensorBlock>;  // by spans

  const Interval<graph::OpIndex>& range(graph::TensorId id) const { return liveness_.ranges[id]; }

  // Sentinel's rules (§IV-B): what lives in the same layers shares pages, short- and long-lived never do.
  TensorBlock& group_for(graph::TensorId id) {
    const graph::Role role = graph_.tensor(id).role;
    if (graph::is_persistent(role) && options_.persistent == PersistentTensors::kByLayersOfUse) {
      return in_group(persistent_, spans_of_use(liveness_, id), BlockKind::kPersistent);
    }
    if (graph::is_persistent(role) || role == graph::Role::kInput) return alone_.emplace_back();
    if (liveness_.short_lived[id]) return in_group(short_lived_, spans_of_life(liveness_, id), BlockKind::kShortLived);
    return in_group(long_lived_, spans_of_life(liveness_, id), BlockKind::kLongLived);
  }

  static TensorBlock& in_group(Groups& groups, const std::vector<int>& spans, BlockKind kind) {
    TensorBlock& block = groups[spans];
    block.kind = kind;
    return block;
  }

  double accesses(graph::TensorId id) const {
    return accesses_.empty() ? static_cast<double>(liveness_.uses[id].size()) : accesses_[as_index(id)].per_page;
  }

  void arrange(TensorBlock& block) const {
    block.ops = range(block.tensors.front());
    for (const graph::TensorId id : block.tensors) {
      block.ops = {std::min(block.ops.begin, range(id).begin), std::max(block.ops.end, range(id).end)};
    }
    block.kind == BlockKind::kShortLived ? reuse_room(block) : put_hottest_first(block);
    block.bytes = align_up(block.bytes, options_.page_bytes);
  }

  // Descending accesses, so that the first pages of a block are its hottest.
  void put_hottest_first(TensorBlock& block) const {
    std::stable_sort(block.tensors.begin(), block.tensors.end(),
                     [&](graph::TensorId a, graph::TensorId b) { return accesses(a) > accesses(b); });
    for (const graph::TensorId id : block.tensors) {
      block.offsets.push_back(block.bytes);
      block.bytes += align_up(graph_.tensor(id).bytes, memory::BestFitHeap::kUnit);
    }
  }

  // Short-lived tensors follow one another through the same pages: best fit in the order of their births.
  void reuse_room(TensorBlock& block) const {
    std::stable_sort(block.tensors.begin(), block.tensors.end(),
                     [&](graph::TensorId a, graph::TensorId b) { return range(a).begin < range(b).begin; });
    memory::BestFitHeap heap;
    std::multimap<graph::OpIndex, std::size_t> in_use;  // by end of the live range
    for (const graph::TensorId id : block.tensors) {
      while (!in_use.empty() && in_use.begin()->first <= range(id).begin) {
        const std::size_t ended = in_use.begin()->second;
        heap.free(block.offsets[ended], graph_.tensor(block.tensors[ended]).bytes);
        in_use.erase(in_use.begin());
      }
      in_use.emplace(range(id).end, block.offsets.size());
      block.offsets.push_back(heap.allocate(graph_.tensor(id).bytes));
    }
    block.bytes = heap.end();
  }

  const graph::Graph& graph_;
  const graph::Liveness& liveness_;
  std::span<const profile::TensorAccesses> accesses_;
  ReorganizeOptions options_;
  std::vector<TensorBlock> alone_;
  Groups persistent_;
  Groups short_lived_;
  Groups long_lived_;
};

}  // namespace

std::vector<int> spans_of_use(const graph::Liveness& liveness, graph::TensorId tensor) {
  std::vector<int> spans;
  for (const graph::Use& use : liveness.uses[tensor]) {
    const int span = liveness.span_of_op[use.op];
    if (spans.empty() || spans.back() != span) spans.push_back(span);
  }
  return spans;
}

std::vector<TensorBlock> reorganize(const graph::Graph& graph, const graph::Liveness& liveness,
                                    std::span<const profile::TensorAccesses> accesses,
                                    const ReorganizeOptions& options) {
  SLUICE_CHECK(options.page_bytes > 0 && options.page_bytes % memory::kBlockAlignment == 0,
               "pages are whole multiples of 4 KiB");
  SLUICE_CHECK(accesses.empty() || accesses.size() == graph.tensors().size(), "accesses of every tensor, or none");
  return Reorganizer(graph, liveness, accesses, options).run();
}

PageLayout block_layout(const graph::Graph& graph, std::span<const TensorBlock> blocks) {
  Bytes region = 0;
  std::vector<memory::OffsetItem> items;
  for (const TensorBlock& block : blocks) {
    const bool brief = block.kind == BlockKind::kShortLived;
    if (brief) region = std::max(region, block.bytes);
    memory::OffsetItem& item = items.emplace_back();
    item.bytes = block.bytes;
    if (!brief) item.live = {block.ops};
  }
  const memory::OffsetAssignment above = memory::assign_offsets(items);
  PageLayout layout{.offsets = std::vector<Bytes>(graph.tensors().size(), kUnplaced), .bytes = region + above.height};
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Bytes begin = blocks[i].kind == BlockKind::kShortLived ? 0 : region + above.offsets[i];
    for (std::size_t j = 0; j < blocks[i].tensors.size(); ++j) {
      layout.offsets[blocks[i].tensors[j]] = begin + blocks[i].offsets[j];
    }
  }
  return layout;
}

PageLayout reorganized_layout(const graph::Graph& graph, const graph::Liveness& liveness,
                              std::span<const profile::TensorAccesses> accesses, const ReorganizeOptions& options) {
  return block_layout(graph, reorganize(graph, liveness, accesses, options));
}

}  // namespace sluice::layout
