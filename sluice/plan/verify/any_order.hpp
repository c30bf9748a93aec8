// What every order of a step's ops has in common, and every way to run some of them again or to leave out what only
// makes again: the frame in which a bound holds for all of them (any_order_certificate.hpp).
//
// Plans may run ops in any order in which each reads the values that it reads in the graph's own (same_values.hpp), and
// as often as they like. What must happen in all of them: every op but a repetition runs at least once, and runs for
// the first time behind the first runs of all that make what it reads. So the ops of a *chain*, each of which needs the
// one before it, begin for the first time in the order of the chain. That cuts the step into *epochs*:
//
//   epoch 0 | chain op 1 begins   epoch 1 | chain op 2 begins   epoch 2 | ...   epoch n | end of the step
//
// Any other op, one that *floats*, runs for the first time in one of the epochs between the last chain op that it needs
// and the first one that needs it. The chain is the one of most compute time.
//
//   graph     0 conv > a   1 loss a > d   2 conv' w a, d > dw   3 update w, dw   4 conv' d, w > e   ...
//   chain     0, 1, 4, ...; 2 and 3 float from epoch 2 (behind op 1) to the end
//
// Tensors that hold the same value are one *life*: an activation and what the graph makes again in its stead.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/graph.hpp"

namespace sluice::plan {

using Epoch = std::int32_t;

// What its first run takes at least: of what makes the same values, the one that takes least may come first.
struct ChainOp {
  graph::OpIndex op = 0;
  Seconds seconds = 0;
};

struct FloatingOp {
  graph::OpIndex op = 0;
  Epoch first = 0;  // in which it may run for the first time
  Epoch last = 0;
  Seconds seconds = 0;
};

struct ChainUse {
  Epoch epoch = 0;  // that the op begins: the bytes are there then
  bool reads = false;
  bool writes = false;
  // What ops take at least that make once more what it reads, their part of what they make; infinite where one of them
  // may run only once.
  Seconds again_seconds = std::numeric_limits<Seconds>::infinity();
};

struct Life {
  graph::TensorId tensor = 0;  // one of those that hold it
  Bytes bytes = 0;
  bool persistent = false;
  bool several = false;                  // tensors that hold it: what is written to one leaves a copy of another valid
  Epoch made_from = 0;                   // not there before; of one that a chain op makes, its epoch
  std::vector<ChainUse> uses;            // ascending
  std::optional<ChainUse> needed_later;  // by an op that floats, in this epoch or a later one
};

struct AnyOrder {
  std::vector<ChainOp> chain;  // chain[k] begins epoch k + 1
  std::vector<FloatingOp> floating;
  std::vector<Life> lives;  // that some op of the chain or one that floats uses

  Epoch epochs() const { return as_id<Epoch>(chain.size()) + 1; }
};

// `op_seconds`: by op of `graph`. O(operands).
AnyOrder find_any_order(const graph::Graph& graph, std::span<const Seconds> op_seconds);

}  // namespace sluice::plan
