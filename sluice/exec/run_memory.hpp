// The memory of a run, which outlives the programs that take turns over it: the storage of every tier, and where in it the
// present graph's persistent tensors are.
//
// change_to() makes it another program's. Storage that is large enough stays, so the fast tier has exactly the largest
// budget so far. A tensor that both graphs have, of one name, form and layout, is carried over: what lies elsewhere in the
// next program is moved, and the rest stays where it is. What is not carried over has to be read before (not_carried())
// and written afterwards: tensors in another layout or other slices, those that the next graph has not, what lies in
// storage that is too small or stitched, and one of each circle of tensors that want one another's places.
//
//   program A   [ w ][ v.momentum ][ v ]          w stays, v moves, and the momentum, which B has not, is
//   program B   [ w ][  v  ]                       not carried
//
// Between steps only; one caller at a time. Errors of change_to(): kInfeasible where the program needs more than the
// budget, and those of memory, files and links. Tensors that were to be carried then are here, in the present graph's
// places, unless a move failed: as after a step that failed (spoil()), their contents are undefined, and all that is
// asked gets that error.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/exec/tensor_moves.hpp"
#include "sluice/exec/tensor_store.hpp"
#include "sluice/kernels/backend.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/memory/transfer/tier_storage.hpp"
#include "sluice/program/program.hpp"

namespace sluice::exec {

// What runs next. `budgets` by TierId; what the program leaves of the fast one is used where it encodes.
struct NextProgram {
  const graph::Graph& graph;
  const program::Program& program;
  std::span<const Bytes> budgets;
};

class RunMemory final : public TensorStore {
 public:
  explicit RunMemory(memory::Machine machine) : machine_(std::move(machine)) {}

  // Tensors of the present graph whose contents are here and would not be after change_to(); ascending.
  std::vector<graph::TensorId> not_carried(const NextProgram& next) const;

  // `next` is of the graph of `compiled`. No executor of the present program is left.
  Status change_to(std::shared_ptr<kernels::CompiledGraph> compiled, const NextProgram& next);

  // Of the present graph: the tensor was carried over or written.
  bool holds(graph::TensorId tensor) const { return held_.at(as_index(tensor)); }
  std::vector<graph::TensorId> held() const;  // ascending

  Status read_tensor(graph::TensorId tensor, std::span<std::byte> bytes) override;
  Status write_tensor(graph::TensorId tensor, std::span<const std::byte> bytes) override;

  // Whether the contents are defined; what a step or a move that failed has left is not.
  const Status& usable() const { return usable_; }
  void spoil(Error why) { usable_ = std::move(why); }
  void mend() { usable_ = {}; }  // the step under way has ended well

  const memory::Machine& machine() const { return machine_; }
  const memory::TierStorages& storages() const { return storages_; }
  const std::shared_ptr<kernels::CompiledGraph>& compiled() const { return compiled_; }  // nullptr: no program yet

 private:
  struct Carried {
    std::vector<graph::TensorId> from, to;  // of the present graph, of the next one
    std::vector<TensorMove> moves;          // in order
  };

  Carried carried_to(const NextProgram& next) const;
  const program::Location& place_of(graph::TensorId tensor, std::size_t bytes) const;

  memory::Machine machine_;
  memory::TierStorages storages_;
  std::shared_ptr<kernels::CompiledGraph> compiled_;
  std::vector<program::Location> places_;  // by TensorId: Program::step_start
  std::vector<bool> held_;                 // by TensorId
  Status usable_;
};

// A graph that somebody else keeps for as long as the memory is used.
std::shared_ptr<kernels::CompiledGraph> kept_elsewhere(kernels::CompiledGraph& compiled);

}  // namespace sluice::exec
