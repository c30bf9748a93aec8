#include "sluice/graph/ops/op_traits.hpp"

#include <algorithm>
#include <array>

#include "sluice/base/as_index.hpp"
#include "sluice/base/check.hpp"

namespace sluice::graph {
namespace {

using enum Again;
using enum Repeat;
using enum OpKind;

constexpr std::array<InPlace, 0> kNone{};
constexpr std::array kX = {InPlace{.input = 0, .output = 0}};   // its only or first operand
constexpr std::array kDy = {InPlace{.input = 1, .output = 0}};  // the gradient that comes after what was kept
constexpr std::array kEither = {InPlace{.input = 0, .output = 0}, InPlace{.input = 1, .output = 0}};
constexpr std::array kSides = {InPlace{.input = 1, .output = 0}, InPlace{.input = 2, .output = 0}};
constexpr std::array kLogits = {InPlace{.input = 0, .output = 1}};  // logits by probabilities

constexpr bool kGpu = true, kNoGpu = false;

#define SLUICE_TRAITS(kind, name, inputs, outputs, attributes, in_place, samples, features, precision, repeat, again, \
                      made, shapes, claim, gradient, gpu)                                                             \
  {kind, name, inputs, outputs, in_place, samples, features, precision, repeat, again, Made::made, gpu},
constexpr std::array kTable = std::to_array<OpTraits>({SLUICE_OPS(SLUICE_TRAITS)});
#undef SLUICE_TRAITS

constexpr std::size_t index_of(OpKind kind) { return as_index(kind); }

// Letters of both sides, from the legend in the header, around one '>'.
constexpr bool spelled(const OperandLetters& letters, std::string_view legend) {
  const std::string_view text = letters.text();
  const std::size_t arrow = text.find('>');
  if (text.empty()) return true;
  if (arrow == 0 || arrow == std::string_view::npos || arrow + 1 == text.size()) return false;
  return std::all_of(text.begin(), text.end(), [&](const char& letter) {
    return &letter == text.data() + arrow || legend.find(letter) != std::string_view::npos;
  });
}
static_assert(std::all_of(kTable.begin(), kTable.end(), [](const OpTraits& line) {
  return spelled(line.samples, "nwsa") && spelled(line.features, "crw") && spelled(line.precision, "hfpui=") &&
         !line.precision.empty();
}));

// Of an update's inputs, "w, dw, momentum, [factor], [filled]": what is in no brackets.
std::string_view always_there(OpKind kind) {
  SLUICE_CHECK(is_update(kind), "an update has moments");
  const std::string_view operands = traits(kind).inputs;
  return operands.substr(0, operands.find(", ["));
}

}  // namespace

char OperandLetters::letter(std::string_view side, std::size_t operand) {
  return side[std::min(operand, side.size() - 1)];
}

const OpTraits& traits(OpKind kind) { return kTable.at(index_of(kind)); }

std::string_view to_string(OpKind kind) { return traits(kind).name; }

const Attributes& default_attributes(OpKind kind) {
#define SLUICE_DEFAULTS(...) SLUICE_OP_ATTRIBUTES(__VA_ARGS__){},
  static const std::array<Attributes, kOpKinds> kDefaults{SLUICE_OPS(SLUICE_DEFAULTS)};
#undef SLUICE_DEFAULTS
  return kDefaults.at(index_of(kind));
}

bool is_loss(OpKind kind) {
  const Made made = traits(kind).made;
  return made == Made::kLoss || made == Made::kLossAndProbabilities;
}

bool repeatable(const Op& op) {
  const Repeat repeat = traits(op.kind).repeat;
  const bool overwrites =
      std::find_first_of(op.inputs.begin(), op.inputs.end(), op.outputs.begin(), op.outputs.end()) != op.inputs.end();
  return (repeat == kPure || repeat == kDrawn) && !overwrites;
}

bool may_repeat(OpKind kind) {
  const Repeat repeat = traits(kind).repeat;
  return repeat == kPure || repeat == kDrawn || kind == kBatchNorm;
}

Op repeated_form(const Op& op) {
  Op form = op;
  if (op.kind != kBatchNorm) return form;
  form.kind = kBatchNormApply;
  form.inputs = {op.inputs[0], op.inputs[1], op.outputs[1]};
  if (op.inputs.size() > 3) form.inputs.push_back(op.inputs[3]);
  form.outputs = {op.outputs[0]};
  std::erase_if(form.in_place, [](const InPlace& pair) { return pair.output != 0 || pair.input == 2; });
  return form;
}

bool meet(std::span<const TensorId> a, std::span<const TensorId> b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

bool independent(const Op& a, const Op& b) {
  return !meet(a.outputs, b.inputs) && !meet(a.outputs, b.outputs) && !meet(a.inputs, b.outputs);
}

bool is_collective(const Op& op) {
  return op.kind == kReduceScatter || op.kind == kAllGather ||
         (op.kind == kClipFactor && op.as<ClipAttributes>().ranks > 1);
}

bool is_update(OpKind kind) { return traits(kind).repeat == kUpdate; }

std::vector<std::string_view> slots_of(OpKind kind) {
  std::string_view rest = always_there(kind);
  std::vector<std::string_view> names;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = rest.find(", ");
    names.push_back(rest.substr(0, comma));
    if (comma != std::string_view::npos) rest.remove_prefix(comma + 2);
  }
  return {names.begin() + 2, names.end()};
}

std::size_t moments_of(OpKind kind) {
  const std::string_view operands = always_there(kind);
  return as_index(std::ranges::count(operands, ',')) - 1;
}

bool is_clipped(const Op& update) {
  return update.inputs.size() > 2 + moments_of(update.kind) + (update.as<UpdateAttributes>().delayed ? 1U : 0U);
}

bool has_master(const Op& update) { return update.outputs.size() > 1 + moments_of(update.kind); }

}  // namespace sluice::graph
