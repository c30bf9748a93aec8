#include "sluice/graph/op_traits.hpp"

#include <algorithm>
#include <array>

#include "sluice/base/check.hpp"

namespace sluice {
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

// A batch norm's statistics are complete before its first result, so it may overwrite x. Dropout is never cut by
// samples: its random numbers go by the element's place in the whole tensor.
// clang-format off
constexpr std::array kTable = std::to_array<OpTraits>({
  // kind                           name                                in place samples     features precision     repeat   again
  {kInput,                          "input",                            kNone,   "",         "",      "f>f",        kGiven,  kDear},
  {kConv2d,                         "conv2d",                           kNone,   "nww>n",    "",      "hhf>h",      kPure,   kDear},
  {kConv2dBackwardData,             "conv2d_backward_data",             kNone,   "nw>n",     "",      "h>h",        kPure,   kDear},
  {kConv2dBackwardWeights,          "conv2d_backward_weights",          kNone,   "nn>w",     "",      "hhf>f",      kPure,   kDear},
  {kConvTranspose2d,                "conv_transpose2d",                 kNone,   "nww>n",    "",      "hhf>h",      kPure,   kDear},
  {kConvTranspose2dBackwardData,    "conv_transpose2d_backward_data",   kNone,   "nw>n",     "",      "h>h",        kPure,   kDear},
  {kConvTranspose2dBackwardWeights, "conv_transpose2d_backward_weights", kNone,   "nn>w",     "",      "hhf>f",      kPure,   kDear},
  {kBatchNorm,                      "batch_norm",                       kX,      "nwwn>nsw", "",      "hffh>hf",    kState,  kCheap},
  {kBatchNormApply,                 "batch_norm_apply",                 kX,      "nwsn>n",   "",      "hffh>h",     kPure,   kDear},
  {kBatchNormBackward,              "batch_norm_backward",              kDy,     "nnws>nw",  "",      "hhf>hf",     kPure,   kDear},
  {kBatchNormStatistics,            "batch_norm_statistics",            kNone,   "n>s",      "",      "h>f",        kPure,   kDear},
  {kBatchNormMerge,                 "batch_norm_merge",                 kNone,   "",         "",      "f>f",        kState,  kDear},
  {kBatchNormBackwardSums,          "batch_norm_backward_sums",         kNone,   "nnws>w",   "",      "hhf>f",      kPure,   kDear},
  {kBatchNormBackwardApply,         "batch_norm_backward_apply",        kDy,     "nnwsw>n",  "",      "hhf>h",      kPure,   kDear},
  {kLayerNorm,                      "layer_norm",                       kNone,   "",         "",      "hf>hf",      kPure,   kCheap},
  {kLayerNormBackward,              "layer_norm_backward",              kDy,     "",         "",      "hhf>hf",     kPure,   kDear},
  {kLocalResponseNorm,              "local_response_norm",              kNone,   "n>n",      "",      "u>u",        kPure,   kDear},
  {kLocalResponseNormBackward,      "local_response_norm_backward",     kNone,   "n>n",      "",      "u>u",        kPure,   kDear},
  {kRelu,                           "relu",                             kX,      "n>n",      "",      "u>u",        kPure,   kInChain},
  {kReluBackward,                   "relu_backward",                    kDy,     "n>n",      "",      "u>u",        kPure,   kDear},
  {kUnary,                          "unary",                            kX,      "n>n",      "",      "u>u",        kPure,   kCheap},
  {kUnaryBackward,                  "unary_backward",                   kDy,     "n>n",      "",      "u>u",        kPure,   kDear},
  {kAdd,                            "add",                              kEither, "n>n",      "c>c",   "u>u",        kPure,   kInChain},
  {kBinary,                         "binary",                           kX,      "",         "",      "u>u",        kPure,   kInChain},
  {kReduce,                         "reduce",                           kNone,   "",         "",      "i>u",        kPure,   kDear},
  {kBroadcast,                      "broadcast",                        kNone,   "",         "",      "u>u",        kPure,   kDear},
  {kReshape,                        "reshape",                          kNone,   "",         "",      "u>u",        kPure,   kInChain},
  {kTranspose,                      "transpose",                        kNone,   "",         "",      "u>u",        kPure,   kInChain},
  {kConcat,                         "concat",                           kNone,   "a>a",      "",      "u>u",        kPure,   kInChain},
  {kSlice,                          "slice",                            kNone,   "a>a",      "",      "u>u",        kPure,   kDear},
  {kPad,                            "pad",                              kNone,   "a>a",      "",      "u>u",        kPure,   kDear},
  {kMaxPool,                        "max_pool",                         kNone,   "n>n",      "",      "u>u",        kPure,   kDear},
  {kMaxPoolBackward,                "max_pool_backward",                kNone,   "n>n",      "",      "u>u",        kPure,   kDear},
  {kAvgPool,                        "avg_pool",                         kNone,   "n>n",      "",      "u>u",        kPure,   kInChain},
  {kAvgPoolBackward,                "avg_pool_backward",                kNone,   "n>n",      "",      "u>u",        kPure,   kDear},
  {kDense,                          "dense",                            kNone,   "",         "rc>w",  "hhf>p",      kPure,   kDear},
  {kDenseBackwardData,              "dense_backward_data",              kNone,   "",         "rc>w",  "h>h",        kPure,   kDear},
  {kDenseBackwardWeights,           "dense_backward_weights",           kNone,   "",         "rrc>c", "hhf>f",      kPure,   kDear},
  {kMatMul,                         "matmul",                           kNone,   "",         "",      "h>p",        kPure,   kInChain},
  {kEmbedding,                      "embedding",                        kNone,   "",         "rc>w",  "f>h",        kPure,   kDear},
  {kEmbeddingBackward,              "embedding_backward",               kNone,   "",         "rrc>c", "fh>f",       kPure,   kDear},
  {kLstmCell,                       "lstm_cell",                        kNone,   "",         "",      "hhfh>hfh",   kPure,   kDear},
  {kLstmCellBackward,               "lstm_cell_backward",               kNone,   "",         "",      "hhffhf>hhf", kPure,   kDear},
  {kSoftmax,                        "softmax",                          kX,      "",         "",      "u>u",        kPure,   kInChain},
  {kSoftmaxBackward,                "softmax_backward",                 kDy,     "",         "",      "u>u",        kPure,   kDear},
  {kDropout,                        "dropout",                          kX,      "",         "",      "u>u",        kDrawn,  kCheap},
  {kSoftmaxCrossEntropy,            "softmax_cross_entropy",            kLogits, "",         "",      "f>f",        kPure,   kDear},
  {kSoftmaxCrossEntropyBackward,    "softmax_cross_entropy_backward",   kX,      "",         "",      "f>h",        kPure,   kDear},
  {kSigmoidCrossEntropy,            "sigmoid_cross_entropy",            kNone,   "",         "",      "f>f",        kPure,   kDear},
  {kSigmoidCrossEntropyBackward,    "sigmoid_cross_entropy_backward",   kX,      "",         "",      "f>h",        kPure,   kDear},
  {kCast,                           "cast",                             kNone,   "",         "",      "=>f",        kPure,   kDear},
  {kReorder,                        "reorder",                          kNone,   "",         "",      "u>u",        kPure,   kDear},
  {kSliceBatch,                     "slice_batch",                      kNone,   "",         "",      "=>=",        kPure,   kDear},
  {kPlaceBatch,                     "place_batch",                      kNone,   "",         "",      "=>=",        kPure,   kDear},
  {kSgdUpdate,                      "sgd_update",                       kNone,   "",         "c>c",   "f>f",        kUpdate, kDear},
  {kAdamUpdate,                     "adam_update",                      kNone,   "",         "c>c",   "f>f",        kUpdate, kDear},
  {kSquaredSum,                     "squared_sum",                      kNone,   "",         "",      "=>f",        kPure,   kDear},
  {kClipFactor,                     "clip_factor",                      kNone,   "",         "",      "f>f",        kGiven,  kDear},
  {kDelayGradient,                  "delay_gradient",                   kNone,   "",         "",      "=>=f",       kPure,   kDear},
  {kAccumulateGradient,             "accumulate_gradient",              kX,      "",         "",      "=f>f",       kPure,   kDear},
  {kReduceScatter,                  "reduce_scatter",                   kNone,   "",         "",      "=>=",        kGiven,  kDear},
  {kOwnPart,                        "own_part",                         kNone,   "",         "",      "=>=",        kPure,   kDear},
  {kAllGather,                      "all_gather",                       kNone,   "",         "",      "=>=",        kGiven,  kDear},
  {kLossScale,                      "loss_scale",                       kNone,   "",         "",      "f>f",        kState,  kDear},
  {kSparseProduct,                  "sparse_product",                   kNone,   "a>a",      "",      "u>u",        kPure,   kDear},
  {kSelect,                         "select",                           kSides,  "",         "",      "u>u",        kPure,   kInChain},
  {kMeanLoss,                       "mean_loss",                        kNone,   "",         "",      "f>f",        kPure,   kDear},
  {kMeanLossBackward,               "mean_loss_backward",               kX,      "",         "",      "f>h",        kPure,   kDear},
});
// clang-format on

constexpr std::size_t index_of(OpKind kind) { return static_cast<std::size_t>(kind); }

constexpr bool one_line_a_kind() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (index_of(kTable[i].kind) != i || kTable[i].name.empty()) return false;
  }
  return kTable.size() == index_of(kLastOpKind) + 1;
}
static_assert(one_line_a_kind(), "the lines must be in the order of OpKind, each with a name");

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

}  // namespace

char OperandLetters::letter(std::string_view side, std::size_t operand) {
  return side[std::min(operand, side.size() - 1)];
}

const OpTraits& traits(OpKind kind) { return kTable.at(index_of(kind)); }

std::string_view to_string(OpKind kind) { return traits(kind).name; }

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
  return op.kind == kReduceScatter || op.kind == kAllGather || (op.kind == kClipFactor && op.attributes.size > 1);
}

bool is_update(OpKind kind) { return traits(kind).repeat == kUpdate; }

std::size_t moments_of(OpKind kind) {
  SLUICE_CHECK(is_update(kind), "an update has moments");
  return kind == kSgdUpdate ? 1 : 2;
}

bool is_clipped(const Op& update) {
  return update.inputs.size() > 2 + moments_of(update.kind) + (update.attributes.delayed ? 1U : 0U);
}

bool has_master(const Op& update) { return update.outputs.size() > 1 + moments_of(update.kind); }

}  // namespace sluice
