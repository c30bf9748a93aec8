// Keys of attributes: the numbers of all families side by side, in one order, those that an op's family lacks at their
// defaults.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>

#include "sluice/graph/ops/attributes.hpp"

namespace sluice::graph {
namespace {

using Integers = std::vector<std::int64_t>;

struct Numbers {
  Window window;
  std::int64_t groups = 1, axis = 0, size = 0, stream = 0;
  int activation = 0, unary = 0, binary = 0, reduce = 0;
  bool count_padding = false, causal = false, state = false, carry = false;
  Integers axes, perm_a, perm_b, perm_y, shape;
  std::int64_t begin = 0, end = 0;
  float alpha = 0, beta = 0, rate = 0, epsilon = 0;
  double momentum = 0, weight_decay = 0, beta2 = 0;
  bool decoupled = false, nesterov = false, delayed = false, scaled = false;
  std::string matrix;
};

// One function for each family: what its fields are called in keys.
struct Fill {
  Numbers& key;

  void operator()(const NoAttributes& /*none*/) const {}
  void operator()(const InputAttributes& a) const { key.begin = a.batch, key.end = a.batches; }
  void operator()(const ConvolutionAttributes& a) const { key.window = a.window, key.groups = a.groups; }
  void operator()(const PoolAttributes& a) const { key.window = a.window, key.count_padding = a.count_padding; }
  void operator()(const NormAttributes& a) const {
    key.size = a.channel_elements, key.epsilon = a.epsilon, key.momentum = a.momentum;
  }
  void operator()(const ResponseNormAttributes& a) const {
    key.size = a.channels, key.alpha = a.alpha, key.beta = a.beta, key.epsilon = a.bias;
  }
  void operator()(const UnaryAttributes& a) const {
    key.unary = static_cast<int>(a.function), key.alpha = a.alpha, key.beta = a.beta;
  }
  void operator()(const AddAttributes& /*activation*/) const {}
  void operator()(const BinaryAttributes& a) const { key.binary = static_cast<int>(a.function); }
  void operator()(const ReduceAttributes& a) const { key.reduce = static_cast<int>(a.function), key.axes = a.axes; }
  void operator()(const ShapeAttributes& a) const { key.shape = a.shape; }
  void operator()(const TransposeAttributes& a) const { key.axes = a.axes; }
  void operator()(const ConcatAttributes& a) const { key.axis = a.axis; }
  void operator()(const PartAttributes& a) const {
    key.axis = a.axis, key.begin = a.begin, key.end = a.end, key.shape = a.shape;
  }
  void operator()(const ProductAttributes& a) const {
    key.perm_a = a.perm_a, key.perm_b = a.perm_b, key.perm_y = a.perm_y, key.alpha = a.factor;
  }
  void operator()(const SoftmaxAttributes& a) const { key.alpha = a.factor, key.causal = a.causal; }
  void operator()(const RecurrentAttributes& a) const { key.state = a.state, key.carry = a.carry; }
  void operator()(const DropoutAttributes& a) const {
    key.rate = a.rate, key.stream = static_cast<std::int64_t>(a.stream);
  }
  void operator()(const TargetAttributes& a) const { key.alpha = a.target; }
  void operator()(const UpdateAttributes& a) const {
    key.rate = a.rate, key.epsilon = a.epsilon, key.momentum = a.momentum, key.weight_decay = a.weight_decay;
    key.beta2 = a.beta2, key.decoupled = a.decoupled, key.nesterov = a.nesterov;
    key.delayed = a.delayed, key.scaled = a.scaled;
  }
  void operator()(const ClipAttributes& a) const {
    key.alpha = a.norm, key.epsilon = a.epsilon, key.size = a.ranks, key.scaled = a.scaled;
  }
  void operator()(const FactorAttributes& a) const { key.alpha = a.factor; }
  void operator()(const RanksAttributes& a) const { key.size = a.ranks, key.alpha = a.factor, key.shape = a.shape; }
  void operator()(const LossScaleAttributes& a) const {
    key.alpha = a.growth, key.beta = a.backoff, key.size = a.steps;
  }
  void operator()(const SparseAttributes& a) const { key.axis = a.axis, key.matrix = a.matrix.digest(); }
  void operator()(const RunningSumAttributes& a) const { key.axis = a.axis, key.causal = a.forwards; }
};

// A slice stands where inputs and parts say which batch or range they are of; no op has both.
Numbers numbers_of(const Attributes& attributes, const Slice& slice) {
  Numbers key{.begin = slice.begin, .end = slice.end};
  key.activation = static_cast<int>(fused_activation(attributes));
  std::visit(Fill{key}, attributes);
  return key;
}

void hash_float(Hasher& hasher, float value) { hasher.add(std::int64_t{std::bit_cast<std::int32_t>(value)}); }

template <typename Values>
void hash_values(Hasher& hasher, const Values& values) {
  hasher.add(std::ssize(values));
  for (const std::int64_t value : values) hasher.add(value);
}

}  // namespace

void hash_attributes(Hasher& hasher, const Attributes& attributes, const Slice& slice) {
  const Numbers a = numbers_of(attributes, slice);
  const Window& w = a.window;
  hash_values(hasher, std::to_array<std::int64_t>({w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h,
                                                   w.dilation_w, w.pad_top, w.pad_left, w.pad_bottom, w.pad_right}));
  hash_values(hasher, std::to_array<std::int64_t>({a.groups, a.count_padding, a.activation, a.unary, a.binary, a.reduce,
                                                   a.axis, a.begin, a.end, slice.partial, slice.accumulate, a.causal,
                                                   a.state, a.carry, a.size, a.stream, a.decoupled}));
  for (const Integers& list : {a.axes, a.perm_a, a.perm_b, a.perm_y, a.shape}) hash_values(hasher, list);
  for (const double value :
       {double{a.alpha}, double{a.beta}, double{a.rate}, double{a.epsilon}, a.momentum, a.weight_decay, a.beta2}) {
    hash_float(hasher, static_cast<float>(value));
  }
  if (a.nesterov) hasher.add(std::string_view("nesterov"));
  if (a.delayed) hasher.add(std::string_view("delayed"));
  if (a.scaled) hasher.add(std::string_view("scaled"));
  if (!a.matrix.empty()) hasher.add(std::string_view(a.matrix));
}

std::string attribute_text(const Attributes& attributes, const Slice& slice) {
  const Numbers a = numbers_of(attributes, slice);
  const Window& w = a.window;
  return fmt::format("k{}x{} s{}x{} d{}x{} p{},{},{},{} g{} cp{} act{} u{} b{} r{} axis{} axes{} perm{}|{}|{} shape{}",
                     w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h, w.dilation_w, w.pad_top, w.pad_left,
                     w.pad_bottom, w.pad_right, a.groups, int{a.count_padding}, a.activation, a.unary, a.binary,
                     a.reduce, a.axis, fmt::join(a.axes, ","), fmt::join(a.perm_a, ","), fmt::join(a.perm_b, ","),
                     fmt::join(a.perm_y, ","), fmt::join(a.shape, ",")) +
         fmt::format(" out{}:{} partial{} acc{} causal{} state{} carry{} alpha{} beta{} size{} rate{}", a.begin, a.end,
                     int{slice.partial}, int{slice.accumulate}, int{a.causal}, int{a.state}, int{a.carry}, a.alpha,
                     a.beta, a.size, a.rate) +
         fmt::format(" eps{} mom{} wd{} beta2 {} decoupled{}", a.epsilon, static_cast<float>(a.momentum),
                     static_cast<float>(a.weight_decay), static_cast<float>(a.beta2), int{a.decoupled}) +
         (a.nesterov ? " nesterov" : "") + (a.delayed ? " delayed" : "") + (a.scaled ? " scaled" : "") +
         (a.matrix.empty() ? "" : " matrix" + a.matrix);
}

}  // namespace sluice::graph
