// Dynamic tensor rematerialization (Kirisame et al., ICLR 2021): a step in a budget, decided while it runs. Nothing is
// planned and nothing moves to slow memory.
//
//   - Where an allocation finds no hole, the resident value with the smallest
//       h = (its cost + cost of its evicted neighbourhood) / (its bytes x time since it was used last)
//     is evicted, and the next, until one does (h_DTR^eq, evicted_classes.hpp). An op's cost is the time that its last
//     run took.
//   - Where an op reads an evicted value, the value's op runs again, first making what it misses itself.
//   - Values whose last use is over are evicted at once (eager eviction).
//
// Ours, beside the paper: a step is a graph, so it is known which values can be made again for as long as they are
// needed (step_values.hpp; others are never evicted), and which nobody can need any more (these leave the
// neighbourhoods; it stands for the paper's banishing). An op in place that runs again overwrites its operand again. What
// an op misses is made in the order in which it was made first, so that less is held meanwhile. Room is real: addresses of
// a best-fit heap, and an allocation that has the bytes but no hole evicts on; when nothing more can go, what is there is
// moved together.
//
// Dtr decides and keeps the books; its driver runs ops and says how long they took. Dtr has no clock, no thread and no
// randomness of its own: its time is the sum of these durations, and equal answers give equal decisions. Each step begins
// anew. One thread at a time.
//
// Errors: kNoneFound where what an op needs does not fit though nothing else can go, and where a step makes so much
// again that it had better not go on (kMostRunsAgain); and the driver's. After an error the step's values are lost.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/result.hpp"
#include "sluice/policies/dtr/step_values.hpp"

namespace sluice::policies {

inline constexpr std::string_view kDtrName = "dtr";
inline constexpr std::string_view kDtrSummary =
    "evicts when memory is full and makes again on demand (Kirisame et al. 2021, DTR)";

// Of a step, for each op that it has. Without it a budget that is too small could take exponential time (the paper's
// section 5 shows steps that thrash).
inline constexpr std::int64_t kMostRunsAgain = 30;

class DtrDriver {
 public:
  virtual ~DtrDriver() = default;

  // Runs the op in this slot of Dtr::kernels() on operands at these bytes of the arena, in its order, and returns how long
  // it took.
  virtual Result<Seconds> run(graph::OpIndex slot, std::span<const Bytes> operands) = 0;

  // Copies a value to another place, which may overlap the one where it is, and returns how long it took.
  virtual Seconds move(Bytes from, Bytes to, Bytes bytes) = 0;

  // A value that may still be needed has lost its room, to make room or because its last use is over.
  virtual void evicted(ValueId /*value*/) {}
};

// What a step came to.
struct DtrStep {
  Seconds computation = 0;      // ops that ran for the first time
  Seconds recomputation = 0;    // ops that ran again, and what copies took
  std::int64_t evictions = 0;   // to make room
  std::int64_t runs_again = 0;  // ops
  Bytes evicted_bytes = 0;
  Bytes moved_bytes = 0;  // of values moved together
  Bytes most_bytes = 0;   // that values and workspaces took at once
};

// Its counts by name, as policies give theirs.
std::vector<std::pair<std::string, double>> figures_of(const DtrStep& step);

class Dtr {
 public:
  // kInfeasible where not even parameters and what is like them fit.
  static Result<Dtr> create(const graph::Graph& step, Bytes budget);

  Result<DtrStep> run_step(DtrDriver& driver);

  const StepValues& values() const { return values_; }
  const graph::Rescheduled& kernels() const { return values_.kernels; }
  Bytes budget() const { return budget_; }

  // Where a persistent tensor lies, always, or an output after a step. Nothing for others, and for outputs before.
  std::optional<Bytes> offset_of(graph::TensorId tensor) const { return offsets_.at(as_index(tensor)); }

 private:
  Dtr(StepValues values, Bytes budget) : values_(std::move(values)), budget_(budget) {}

  StepValues values_;
  Bytes budget_;
  Bytes persistent_bytes_ = 0;
  std::vector<std::optional<Bytes>> offsets_;  // by tensor
};

}  // namespace sluice::policies
