// What is true of a kind of op by itself, in any graph: its row of op_table.hpp. Rewrites, lowering and planners ask here
// instead of listing kinds.
//
//   in place    which output may overwrite which input, best first: kernels that go through their operands element by
//               element (or row by row), and read each before they write it
//   samples     how the op is done for some samples of a batch of images, then for the others (slice_batch.hpp)
//   features    how it is done for some output features or vocabulary rows of a weight, then for others
//               (slice_dense.hpp)
//   precision   which operands become bf16 or fp16, and which stay fp32 (mixed_precision.hpp)
//   repeat      whether running it again, on the same operands, gives the same bits, and why
//   again       whether making its result again costs little beside keeping it (rematerialize.hpp)
//
// "samples", "features" and "precision" have a letter for each operand, as in "hhf>h": inputs, then outputs, in the
// order of the table; the last letter of a side stands for all that follow. An empty text means: never.
//
//   samples     n  samples along its first dimension
//               w  weights, or a gradient of weights: no samples; what slices add to it is summed
//               a  samples, unless the op works along their dimension (axis_of)
//               s  statistics of the samples, in a shape that does not tell how many they were
//   features    c  cut: the op sees the slice's part
//               r  read whole by every slice
//               w  written by every slice, each its part (attributes.hpp, Slice::partial)
//   precision   h  bf16, or fp16
//               f  fp32
//               p  as h; fp32 where it is logits or a parameter's gradient
//               u  all of the op in one: fp32 where everything it reads is made as fp32, or it makes a parameter's
//                  gradient or a loss; else as h
//               i  fp32 where everything the op reads is made as fp32; else as h
//               =  as the first input is
//               An operand that is an output, too, has the output's letter.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sluice/graph/ops/op.hpp"

namespace sluice::graph {

// Letters of a kind's operands.
class OperandLetters {
 public:
  constexpr OperandLetters(const char* text) : text_(text) {}  // a table's cell converts

  constexpr std::string_view text() const { return text_; }
  constexpr bool empty() const { return text_.empty(); }
  // Not of an empty text.
  constexpr std::string_view inputs() const { return text_.substr(0, text_.find('>')); }
  constexpr std::string_view outputs() const { return text_.substr(text_.find('>') + 1); }
  char input(std::size_t operand) const { return letter(inputs(), operand); }
  char output(std::size_t operand) const { return letter(outputs(), operand); }

 private:
  static char letter(std::string_view side, std::size_t operand);
  std::string_view text_;
};

enum class Repeat {
  kPure,    // same bits: it depends on its operands alone
  kDrawn,   // same bits: its random numbers depend on seed, stream, step and element, not on how often it ran
  kState,   // other bits: it moves running statistics or the scale of losses on by one step
  kUpdate,  // other bits: it moves parameters and their optimizer's state on by one step
  kGiven,   // not at all: its data comes from outside the graph, or from other ranks
};

enum class Again : std::uint8_t {
  kDear,     // not worth it
  kInChain,  // a few passes over the result, where its operands are there or are made again likewise
  kCheap,    // in nearly every plan
};

// What a builder makes of a forward op's outputs.
enum class Made : std::uint8_t {
  kOne,                   // one tensor in fp32
  kAsInput,               // one of the type of the first input
  kWithStats,             // and statistics
  kWithIndex,             // and where each element came from, in u8
  kCell,                  // h, c and gates
  kLoss,                  // a number that the caller reads
  kLossAndProbabilities,  // and what backward ops read
};

struct OpTraits {
  OpKind kind;
  std::string_view name;
  std::string_view inputs, outputs;
  std::span<const InPlace> in_place;
  OperandLetters samples;
  OperandLetters features;
  OperandLetters precision;
  Repeat repeat;
  Again again;
  Made made;
  bool gpu;
};

const OpTraits& traits(OpKind kind);

// Whether running the op again gives the same bits: its kind says so, and the op overwrites nothing that it reads (an
// op that adds to its output, or was merged in place, has lost its operands).
bool repeatable(const Op& op);

// Whether an op of the kind may run more than once in a step: kPure and kDrawn as they are, a batch norm by its apply
// part, which leaves running statistics alone.
bool may_repeat(OpKind kind);

// What runs when an op that may repeat runs again: itself, or of a batch norm
//   kBatchNormApply   x, scale_shift, the stats of its first run, [residual] > y
Op repeated_form(const Op& op);

// Whether a tensor is in both.
bool meet(std::span<const TensorId> a, std::span<const TensorId> b);
// Whether the two may run in either order: neither writes what the other reads or writes.
bool independent(const Op& a, const Op& b);

// The ops that wait for other ranks.
bool is_collective(const Op& op);
// Of a tensor that ranks have parts of: the elements of one, but those of the last ranks, which may be fewer.
constexpr std::int64_t part_elements(std::int64_t elements, std::int64_t ranks) {
  return (elements + ranks - 1) / ranks;
}

// The ops of optimizers.
bool is_update(OpKind kind);
// Of an update's operands (op_table.hpp): how many the optimizer keeps beside the parameter; whether gradients are multiplied
// by a factor; whether the parameter is a master, whose copy in 16 bits is written, too.
std::size_t moments_of(OpKind kind);
std::vector<std::string_view> slots_of(OpKind kind);  // what they are called: "moment1"
bool is_clipped(const Op& update);
bool has_master(const Op& update);

}  // namespace sluice::graph
