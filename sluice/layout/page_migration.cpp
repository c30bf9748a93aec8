#include "sluice/layout/page_migration.hpp"

#include <fmt/format.h>

#include "sluice/base/id_vector.hpp"
#include "sluice/layout/reorganize.hpp"

namespace sluice::layout {
namespace {

using PageIndex = std::int64_t;

constexpr PageIndex kNone = -1;

// The pages in fast memory, in the order they were touched last: a list threaded through arrays by page.
class TouchOrder {
 public:
  explicit TouchOrder(PageIndex pages) : before_(pages, kNone), behind_(pages, kNone) {}

  void append(PageIndex page) {
    before_[page] = last_;
    behind_[page] = kNone;
    (last_ == kNone ? first_ : behind_[last_]) = page;
    last_ = page;
    ++size_;
  }

  void remove(PageIndex page) {
    const PageIndex before = before_[page];
    const PageIndex behind = behind_[page];
    (before == kNone ? first_ : behind_[before]) = behind;
    (behind == kNone ? last_ : before_[behind]) = before;
    --size_;
  }

  PageIndex first() const { return first_; }
  PageIndex behind(PageIndex page) const { return behind_[page]; }
  PageIndex size() const { return size_; }

 private:
  IdVector<PageIndex, PageIndex> before_;
  IdVector<PageIndex, PageIndex> behind_;
  PageIndex first_ = kNone;
  PageIndex last_ = kNone;
  PageIndex size_ = 0;
};

class PageSimulation {
 public:
  PageSimulation(const graph::Graph& graph, const graph::Liveness& liveness, const PageLayout& layout,
                 const PageSystem& system)
      : graph_(graph),
        liveness_(liveness),
        layout_(layout),
        page_bytes_(system.page_bytes),
        budget_pages_(system.fast_budget / system.page_bytes),
        freed_(system.freed),
        pages_(page_count(layout, system.page_bytes)),
        fast_(page_count(layout, system.page_bytes)) {
    for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
      if (graph::is_persistent(graph.tensor(id).role)) begin_life(id);
    }
    for (Page& page : pages_) page.holds_data = page.live_tensors > 0;
  }

  Status run_step() {
    traffic_ = {};
    for (std::size_t span = 0; span < liveness_.spans.size(); ++span) {
      const Interval<graph::OpIndex> ops = liveness_.spans[span].ops;
      for (graph::OpIndex op = ops.begin; op < ops.end; ++op) SLUICE_RETURN_IF_ERROR(run_op(op));
      leave_behind(liveness_.spans[(span + 1) % liveness_.spans.size()].ops);
    }
    return {};
  }

  const PageTraffic& traffic() const { return traffic_; }

 private:
  struct Page {
    std::int32_t live_tensors = 0;
    bool holds_data = false;  // touched since it was last given up
    bool in_fast = false;
    std::int64_t needed_at = kNone;  // the last moment at which it was marked as needed
  };

  template <typename Visit>
  void for_pages(graph::TensorId id, const Visit& visit) {
    const Interval<PageIndex> pages = pages_of(layout_, graph_, id, page_bytes_);
    for (PageIndex page = pages.begin; page < pages.end; ++page) visit(page);
  }

  void begin_life(graph::TensorId id) {
    for_pages(id, [&](PageIndex page) { ++pages_[page].live_tensors; });
  }

  void end_life(graph::TensorId id) {
    for_pages(id, [&](PageIndex index) {
      Page& page = pages_[index];
      if (--page.live_tensors > 0 || freed_ == FreedData::kUnknown) return;
      page.holds_data = false;
      drop(index);
    });
  }

  void drop(PageIndex index) {
    if (!pages_[index].in_fast) return;
    pages_[index].in_fast = false;
    fast_.remove(index);
  }

  void move_out(PageIndex index) {
    drop(index);
    traffic_.out += page_bytes_;
  }

  Status run_op(graph::OpIndex op) {
    const std::vector<graph::TensorId> operands = graph::distinct_operands(graph_.op(op));
    const auto transient = [&](graph::TensorId id) { return !graph::is_persistent(graph_.tensor(id).role); };
    const auto range = [&](graph::TensorId id) { return liveness_.ranges[id]; };
    mark_needed(operands);
    for (const graph::TensorId id : operands) {
      if (transient(id) && range(id).begin == op) begin_life(id);
      bool fits = true;
      for_pages(id, [&](PageIndex page) { fits = fits && bring(page); });
      if (!fits) return too_small(op, operands);
    }
    for (const graph::TensorId id : operands) {
      if (transient(id) && range(id).end == op + 1) end_life(id);
    }
    return {};
  }

  // Those in fast memory already become the ones touched last, so that none of them has to go for another.
  void mark_needed(const std::vector<graph::TensorId>& operands) {
    ++moment_;
    for (const graph::TensorId id : operands) {
      for_pages(id, [&](PageIndex page) {
        pages_[page].needed_at = moment_;
        if (!pages_[page].in_fast) return;
        fast_.remove(page);
        fast_.append(page);
      });
    }
  }

  // False when fast memory is full of pages that the running op needs.
  bool bring(PageIndex index) {
    Page& page = pages_[index];
    if (page.in_fast) return true;
    if (fast_.size() >= budget_pages_) {
      const PageIndex oldest = fast_.first();
      if (oldest == kNone || pages_[oldest].needed_at == moment_) return false;
      move_out(oldest);
    }
    if (page.holds_data) traffic_.in += page_bytes_;
    fast_.append(index);
    page.in_fast = page.holds_data = true;
    return true;
  }

  void leave_behind(Interval<graph::OpIndex> next_ops) {
    ++moment_;
    for (graph::OpIndex op = next_ops.begin; op < next_ops.end; ++op) {
      for (const graph::TensorId id : graph::distinct_operands(graph_.op(op))) {
        for_pages(id, [&](PageIndex page) { pages_[page].needed_at = moment_; });
      }
    }
    for (PageIndex page = fast_.first(); page != kNone;) {
      const PageIndex behind = fast_.behind(page);
      if (pages_[page].needed_at != moment_) move_out(page);
      page = behind;
    }
  }

  Error too_small(graph::OpIndex op, const std::vector<graph::TensorId>& operands) {
    Bytes bytes = 0;
    for (const graph::TensorId id : operands) for_pages(id, [&](PageIndex) { bytes += page_bytes_; });
    return {ErrorCode::kInfeasible,
            fmt::format("op {} '{}' touches {} of pages and fast memory holds {}: simulate with more", op,
                        graph_.op(op).name, format_bytes(bytes), format_bytes(budget_pages_ * page_bytes_)),
            bytes, budget_pages_ * page_bytes_};
  }

  const graph::Graph& graph_;
  const graph::Liveness& liveness_;
  const PageLayout& layout_;
  Bytes page_bytes_;
  PageIndex budget_pages_;
  FreedData freed_;
  IdVector<PageIndex, Page> pages_;
  TouchOrder fast_;
  PageTraffic traffic_;
  std::int64_t moment_ = 0;
};

}  // namespace

Result<PageTraffic> simulate_page_migration(const graph::Graph& graph, const graph::Liveness& liveness,
                                            const PageLayout& layout, const PageSystem& system) {
  PageSimulation simulation(graph, liveness, layout, system);
  constexpr int kSteps = 2;  // the first one finds all persistent tensors in slow memory
  for (int step = 0; step < kSteps; ++step) SLUICE_RETURN_IF_ERROR(simulation.run_step());
  return simulation.traffic();
}

Result<PageMigrationComparison> compare_page_migration(const graph::Graph& graph, const graph::Liveness& liveness,
                                                       std::span<const profile::TensorAccesses> accesses,
                                                       Bytes fast_budget, Bytes page_bytes) {
  const PageLayout scattered = allocation_order_layout(graph, liveness);
  const PageLayout blocks = reorganized_layout(graph, liveness, accesses, {.page_bytes = page_bytes});
  const auto simulate = [&](const PageLayout& layout, FreedData freed) {
    return simulate_page_migration(graph, liveness, layout, {fast_budget, page_bytes, freed});
  };
  PageMigrationComparison result;
  SLUICE_ASSIGN(result.allocation_order, simulate(scattered, FreedData::kUnknown));
  SLUICE_ASSIGN(result.freed_known, simulate(scattered, FreedData::kKnown));
  SLUICE_ASSIGN(result.reorganized, simulate(blocks, FreedData::kKnown));
  return result;
}

}  // namespace sluice::layout
