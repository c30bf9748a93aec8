// Each trait of the table in graph/ops/op_traits.cpp against the behaviour that it stands for: the ops of the op cases, on
// their operands' values in the case, run by the reference kernels in another way than the case does.
#include "sluice/graph/ops/op_traits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/kernels/reference/reference_kernels.hpp"
#include "sluice/testing/op_cases/op_cases.hpp"

namespace sluice::kernels {
namespace {

constexpr std::uint64_t kTraitsSeed = 20241107;
constexpr std::byte kGarbage{0x5a};
const StepContext kTraitsContext{.step = 3, .learning_rate = 0.1F, .seed = kTraitsSeed};

using StoredOperand = std::vector<std::byte>;
using Buffers = std::vector<StoredOperand>;

std::size_t byte_count(const graph::Tensor& tensor) {
  return as_index(graph::element_count(tensor.shape)) * (tensor.dtype == graph::DType::kU8 ? 1 : 4);
}

// Runs an op in the storage of its inputs, and gives its outputs as they are then. An output that is an input, too, or
// that `shared` puts there, overwrites it.
Buffers run(const graph::Graph& graph, const graph::Op& op, Buffers& inputs, const graph::InPlace* shared = nullptr) {
  Buffers outputs;
  for (const graph::TensorId id : op.outputs) outputs.emplace_back(byte_count(graph.tensor(id)), kGarbage);
  std::vector<void*> pointers;
  for (StoredOperand& input : inputs) pointers.push_back(input.data());
  for (std::size_t o = 0; o < op.outputs.size(); ++o) {
    const auto same = std::find(op.inputs.begin(), op.inputs.end(), op.outputs[o]);
    const bool in_place = shared != nullptr && static_cast<std::size_t>(shared->output) == o;
    pointers.push_back(in_place                  ? inputs[static_cast<std::size_t>(shared->input)].data()
                       : same != op.inputs.end() ? inputs[as_index(same - op.inputs.begin())].data()
                                                 : outputs[o].data());
  }
  run_reference_kernel(ReferenceCall(graph, op, pointers, kTraitsContext));
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    std::memcpy(outputs[o].data(), pointers[inputs.size() + o], outputs[o].size());
  }
  return outputs;
}

StoredOperand stored(const graph::Tensor& tensor, const std::vector<float>& values) {
  StoredOperand buffer(byte_count(tensor));
  if (tensor.dtype == graph::DType::kF32) {
    std::memcpy(buffer.data(), values.data(), buffer.size());
    return buffer;
  }
  std::vector<std::int32_t> integers(values.begin(), values.end());
  std::memcpy(buffer.data(), integers.data(), buffer.size());
  return buffer;
}

using Visit = std::function<void(const graph::Graph&, const graph::Op&, const Buffers& inputs)>;

// Every op of every case in fp32, with the values that it reads there.
void for_each_op(const Visit& visit) {
  for (const testing::OpCase& tested : testing::op_cases()) {
    const graph::Graph& graph = tested.graph;
    const bool full = std::none_of(graph.tensors().begin(), graph.tensors().end(),
                                   [](const graph::Tensor& tensor) { return graph::is_half(tensor.dtype); });
    if (!full) continue;
    SCOPED_TRACE(::testing::Message() << tested.name << ", seed " << kTraitsSeed);
    const testing::NamedValues leaves = testing::leaf_values(graph, kTraitsSeed);
    Buffers values(graph.tensors().size());
    for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
      const auto leaf = leaves.find(graph.tensor(id).name);
      if (leaf != leaves.end()) values[as_index(id)] = stored(graph.tensor(id), leaf->second);
    }
    for (const graph::Op& op : graph.ops()) {
      Buffers inputs;
      for (const graph::TensorId id : op.inputs) inputs.push_back(values[as_index(id)]);
      visit(graph, op, inputs);
      const Buffers outputs = run(graph, op, inputs);
      for (std::size_t o = 0; o < outputs.size(); ++o) values[as_index(op.outputs[o])] = outputs[o];
    }
  }
}

std::set<graph::OpKind> kinds_where(const std::function<bool(const graph::OpTraits&)>& holds) {
  std::set<graph::OpKind> kinds;
  for (int kind = 0; kind <= static_cast<int>(graph::kLastOpKind); ++kind) {
    if (holds(graph::traits(static_cast<graph::OpKind>(kind)))) kinds.insert(static_cast<graph::OpKind>(kind));
  }
  return kinds;
}

bool may_overwrite(const graph::Graph& graph, const graph::Op& op, const graph::InPlace& pair) {
  const graph::TensorId source = op.inputs[as_index(pair.input)];
  const graph::TensorId target = op.outputs[as_index(pair.output)];
  return source != target && graph.tensor(source).shape == graph.tensor(target).shape &&
         std::count(op.inputs.begin(), op.inputs.end(), source) == 1;
}

TEST(OpTraits, KeepBitsInPlace) {
  std::set<graph::OpKind> seen;
  for_each_op([&](const graph::Graph& graph, const graph::Op& op, const Buffers& inputs) {
    for (const graph::InPlace& pair : graph::traits(op.kind).in_place) {
      if (!may_overwrite(graph, op, pair)) continue;
      Buffers apart = inputs;
      Buffers together = inputs;
      EXPECT_EQ(run(graph, op, together, &pair), run(graph, op, apart)) << op.name << ", input " << pair.input;
      seen.insert(op.kind);
    }
  });
  EXPECT_EQ(seen, kinds_where([](const graph::OpTraits& line) { return !line.in_place.empty(); }));
}

// So the test above can tell.
TEST(OpTraits, WouldNotKeepBitsInPlaceElsewhere) {
  std::set<graph::OpKind> changed;
  const graph::InPlace pair{.input = 0, .output = 0};
  for_each_op([&](const graph::Graph& graph, const graph::Op& op, const Buffers& inputs) {
    if (op.kind != graph::OpKind::kConv2d && op.kind != graph::OpKind::kTranspose && op.kind != graph::OpKind::kMatMul)
      return;
    if (byte_count(graph.tensor(op.inputs[0])) < byte_count(graph.tensor(op.outputs[0]))) return;
    Buffers apart = inputs;
    Buffers together = inputs;
    if (run(graph, op, together, &pair) != run(graph, op, apart)) changed.insert(op.kind);
  });
  EXPECT_FALSE(changed.empty());
}

TEST(OpTraits, RepeatBits) {
  for_each_op([&](const graph::Graph& graph, const graph::Op& op, const Buffers& inputs) {
    Buffers storage = inputs;
    const Buffers once = run(graph, op, storage);
    const Buffers twice = run(graph, op, storage);
    const graph::Repeat repeat = graph::traits(op.kind).repeat;
    if (graph::repeatable(op)) {
      EXPECT_EQ(storage, inputs) << op.name << " overwrites what it reads";
      EXPECT_EQ(twice, once) << op.name;
    } else if (repeat == graph::Repeat::kState || repeat == graph::Repeat::kUpdate) {
      EXPECT_NE(twice, once) << op.name << " might as well be repeatable";
    }
  });
}

// A way to cut an op: which operands are cut along their first dimension, and at which share of it.
struct Part {
  graph::Graph graph;
  graph::Op op;
};

std::int64_t boundary(std::int64_t extent, std::size_t part) { return part == 0 ? 0 : part == 1 ? extent / 2 : extent; }

graph::Shape part_shape(graph::Shape shape, std::size_t part) {
  shape[0] = boundary(shape[0], part + 1) - boundary(shape[0], part);
  return shape;
}

// The op on one of two parts: operands with one of `letters` are parts, and their tensors have names of their own.
Part part_of(const graph::Graph& graph, const graph::Op& op, const graph::OperandLetters& letters, std::string_view cut,
             std::size_t part) {
  Part result{graph, op};
  const auto take = [&](graph::TensorId& id, char letter) {
    if (cut.find(letter) == std::string_view::npos) return;
    graph::Tensor tensor = graph.tensor(id);
    tensor.shape = part_shape(tensor.shape, part);
    tensor.bytes = 0;
    const graph::TensorId original = id;
    for (auto* operands : {&result.op.inputs, &result.op.outputs}) {
      std::replace(operands->begin(), operands->end(), original, result.graph.tensor_count());
    }
    result.graph.add_tensor(std::move(tensor));
  };
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (result.op.inputs[i] == op.inputs[i]) take(result.op.inputs[i], letters.input(i));
  }
  for (std::size_t o = 0; o < op.outputs.size(); ++o) {
    if (result.op.outputs[o] == op.outputs[o]) take(result.op.outputs[o], letters.output(o));
  }
  return result;
}

StoredOperand part_bytes(const StoredOperand& whole, std::int64_t extent, std::size_t part) {
  const auto row = std::ssize(whole) / extent;
  return {whole.begin() + row * boundary(extent, part), whole.begin() + row * boundary(extent, part + 1)};
}

Buffers part_inputs(const graph::Graph& graph, const graph::Op& op, const Buffers& inputs,
                    const graph::OperandLetters& letters, std::string_view cut, std::size_t part) {
  Buffers parts = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (cut.find(letters.input(i)) == std::string_view::npos) continue;
    parts[i] = part_bytes(inputs[i], graph.tensor(op.inputs[i]).shape[0], part);
  }
  return parts;
}

std::vector<float> floats(const StoredOperand& buffer) {
  std::vector<float> values(buffer.size() / sizeof(float));
  std::memcpy(values.data(), buffer.data(), buffer.size());
  return values;
}

void expect_close(const StoredOperand& actual, const StoredOperand& expected, const std::string& name) {
  const std::vector<float> a = floats(actual);
  const std::vector<float> e = floats(expected);
  ASSERT_EQ(a.size(), e.size());
  float scale = 1e-3F;
  for (const float value : e) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < e.size(); ++i) ASSERT_NEAR(a[i], e[i], 1e-5F * scale) << name << ", element " << i;
}

StoredOperand sum(const StoredOperand& a, const StoredOperand& b) {
  std::vector<float> values = floats(a);
  const std::vector<float> other = floats(b);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += other[i];
  StoredOperand result(a.size());
  std::memcpy(result.data(), values.data(), result.size());
  return result;
}

StoredOperand joined(const StoredOperand& a, const StoredOperand& b) {
  StoredOperand result = a;
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

// Whether the op's operands have the samples that its kind's letters say, more than one.
bool has_batch(const graph::Graph& graph, const graph::Op& op) {
  const graph::OperandLetters& letters = graph::traits(op.kind).samples;
  if (letters.empty() || (letters.input(0) == 'a' && graph::axis_of(op.attributes) == 0)) return false;
  return graph.tensor(op.inputs[0]).shape.size() == 4 && graph.tensor(op.inputs[0]).shape[0] > 1;
}

// Statistics are of all samples, so these are cut after they were split into parts (split_batch_norm.hpp).
bool splits_first(graph::OpKind kind) {
  return kind == graph::OpKind::kBatchNorm || kind == graph::OpKind::kBatchNormBackward;
}

TEST(OpTraits, TreatSamplesAlone) {
  std::set<graph::OpKind> seen;
  for_each_op([&](const graph::Graph& graph, const graph::Op& op, const Buffers& inputs) {
    if (!has_batch(graph, op) || splits_first(op.kind)) return;
    const graph::OperandLetters& letters = graph::traits(op.kind).samples;
    Buffers storage = inputs;
    const Buffers whole = run(graph, op, storage);
    Buffers parts[2];
    for (const std::size_t part : {std::size_t{0}, std::size_t{1}}) {
      Part cut = part_of(graph, op, letters, "na", part);
      if (op.kind == graph::OpKind::kPad) {
        graph::Shape& shape = cut.op.as<graph::PartAttributes>().shape;
        shape = part_shape(shape, part);
      }
      Buffers some = part_inputs(graph, op, inputs, letters, "na", part);
      parts[part] = run(cut.graph, cut.op, some);
    }
    for (std::size_t o = 0; o < whole.size(); ++o) {
      const char letter = letters.output(o);
      if (letter == 'n' || letter == 'a') {
        EXPECT_EQ(joined(parts[0][o], parts[1][o]), whole[o]) << op.name;
      }
      if (letter == 'w') expect_close(sum(parts[0][o], parts[1][o]), whole[o], op.name);
    }
    seen.insert(op.kind);
  });
  EXPECT_EQ(seen,
            kinds_where([](const graph::OpTraits& line) { return !line.samples.empty() && !splits_first(line.kind); }));
}

bool has_features(const graph::Graph& graph, const graph::Op& op) {
  const graph::OperandLetters& letters = graph::traits(op.kind).features;
  const graph::Slice& slice = op.slice;
  if (letters.empty() || slice.end != 0 || slice.partial || slice.accumulate) return false;
  const auto* const update = std::get_if<graph::UpdateAttributes>(&op.attributes);
  if (update != nullptr && update->scaled) return false;  // its factor is there when features have long been cut
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (letters.input(i) == 'c' && graph.tensor(op.inputs[i]).shape[0] < 2) return false;
  }
  return true;
}

// The slice of the op, writing its part of the outputs that stay whole: those of the slice before stand in `written`.
Buffers run_slice(const graph::Graph& graph, const graph::Op& op, const Buffers& inputs, std::size_t part,
                  const Buffers& written) {
  const graph::OperandLetters& letters = graph::traits(op.kind).features;
  Part cut = part_of(graph, op, letters, "c", part);
  Buffers some = part_inputs(graph, op, inputs, letters, "c", part);
  if (letters.text() != "c>c") {
    const bool by_input = letters.outputs() != "c";
    const graph::TensorId weight = by_input ? op.inputs[1] : op.outputs[0];
    cut.op.slice.begin = boundary(graph.tensor(weight).shape[0], part);
    cut.op.slice.end = boundary(graph.tensor(weight).shape[0], part + 1);
    if (by_input && part > 0) {
      cut.op.slice.partial = true;
      cut.op.inputs.push_back(cut.op.outputs[0]);
      some.push_back(written[0]);
    }
  }
  return run(cut.graph, cut.op, some);
}

TEST(OpTraits, TreatFeaturesAlone) {
  std::set<graph::OpKind> seen;
  for_each_op([&](const graph::Graph& graph, const graph::Op& op, const Buffers& inputs) {
    if (!has_features(graph, op)) return;
    Buffers storage = inputs;
    const Buffers whole = run(graph, op, storage);
    const Buffers first = run_slice(graph, op, inputs, 0, {});
    const Buffers second = run_slice(graph, op, inputs, 1, first);
    for (std::size_t o = 0; o < whole.size(); ++o) {
      const bool cut = graph::traits(op.kind).features.output(o) == 'c';
      expect_close(cut ? joined(first[o], second[o]) : second[o], whole[o], op.name);
    }
    seen.insert(op.kind);
  });
  EXPECT_EQ(seen, kinds_where([](const graph::OpTraits& line) { return !line.features.empty(); }));
}

}  // namespace
}  // namespace sluice::kernels
