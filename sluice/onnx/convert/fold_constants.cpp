// Ops on known arrays: what exporters compute shapes, positions and masks with.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/arrays/array_ops.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/fold_inputs.hpp"
#include "sluice/onnx/model/element_type.hpp"

namespace sluice::onnx {
namespace {

using Arrays = FoldInputs;
using Fold = Result<HostArray> (*)(Node& node, const Arrays& inputs);

Result<HostArray> fold_constant(Node& node, const Arrays& /*inputs*/) {
  if (const ::onnx::TensorProto* tensor = node.attributes.tensor("value")) {
    SLUICE_ASSIGN(const TensorSource source, check_tensor(*tensor, node.conversion.file));
    return read_array(source);
  }
  if (node.attributes.has("value_float")) return scalar(node.attributes.real("value_float", 0));
  if (node.attributes.has("value_int")) return filled(graph::Shape{}, node.attributes.integer("value_int", 0));
  if (const auto values = node.attributes.integers("value_ints")) return integers(*values);
  return node.error("needs a value that is a tensor, a number or a list of integers");
}

Result<HostArray> fold_constant_of_shape(Node& node, const Arrays& inputs) {
  HostArray each = scalar(0);
  if (const ::onnx::TensorProto* tensor = node.attributes.tensor("value")) {
    SLUICE_ASSIGN(const TensorSource source, check_tensor(*tensor, node.conversion.file));
    SLUICE_ASSIGN(each, read_array(source));
  }
  const auto count = checked_count(inputs[0].ints, kMostArrayElements);
  if (each.count() != 1 || !inputs[0].is_integer || !count) return node.error("makes an impossible constant");
  HostArray result = each.is_integer ? filled(inputs[0].ints, each.ints[0]) : filled(inputs[0].ints, each.floats[0]);
  result.is_integer = each.is_integer;
  return result;
}

Result<HostArray> fold_range(Node& node, const Arrays& inputs) {
  if (inputs[0].count() != 1 || inputs[1].count() != 1 || inputs[2].count() != 1) return node.error("needs numbers");
  const auto [start, limit, delta] = std::tuple(inputs[0].at(0), inputs[1].at(0), inputs[2].at(0));
  const double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(count <= static_cast<double>(kMostArrayElements))) return node.error("has too many elements");
  HostArray result;
  result.is_integer = inputs[0].is_integer;
  result.shape = {as_id<std::int64_t>(count)};
  for (std::int64_t i = 0; i < result.shape[0]; ++i) {
    const double value = start + static_cast<double>(i) * delta;
    if (result.is_integer) {
      result.ints.push_back(integer_of(value));
    } else {
      result.floats.push_back(static_cast<float>(value));
    }
  }
  return result;
}

Result<HostArray> fold_cast(Node& node, const Arrays& inputs) {
  const std::int64_t to = node.attributes.integer("to", 0);
  const bool boolean = to == ::onnx::TensorProto::BOOL;
  const bool real = is_floating_type(to);
  node.attributes.ignore("saturate");  // of 8-bit floating-point types
  if (!real && !is_whole_type(to)) return node.error(fmt::format("casts to the type {}", to));
  if (real == !inputs[0].is_integer && !boolean) return inputs[0];
  HostArray result;
  result.shape = inputs[0].shape;
  result.is_integer = !real;
  for (std::int64_t i = 0; i < inputs[0].count(); ++i) {
    const double value = inputs[0].at(i);
    if (real) {
      result.floats.push_back(static_cast<float>(value));
    } else {
      result.ints.push_back(boolean ? static_cast<std::int64_t>(value != 0) : integer_of(value));
    }
  }
  return result;
}

Result<HostArray> fold_gather(Node& node, const Arrays& inputs) {
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", 0), inputs[0].shape.size()));
  return gathered(inputs[0], inputs[1], axis);
}

Result<HostArray> fold_concat(Node& node, const Arrays& inputs) {
  const std::size_t rank = inputs[0].shape.size();
  SLUICE_ASSIGN(const std::int64_t axis, positive_axis(node.attributes.integer("axis", 0), rank));
  return joined(inputs.all(), axis);
}

Result<HostArray> reshaped(const HostArray& x, graph::Shape shape) {
  HostArray result = x;
  if (checked_count(shape, kMostArrayElements) != x.count()) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("cannot read {} as {}", graph::to_string(x.shape), graph::to_string(shape))};
  }
  result.shape = std::move(shape);
  return result;
}

Result<HostArray> fold_reshape(Node& node, const Arrays& inputs) {
  node.attributes.ignore("allowzero");
  graph::Shape shape = inputs[1].ints;
  std::int64_t open = -1;
  std::int64_t known = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && d < inputs[0].shape.size()) shape[d] = inputs[0].shape[d];
    if (shape[d] == -1) open = as_id<std::int64_t>(d);
    if (shape[d] > 0 && shape[d] <= kMostArrayElements / known) known *= shape[d];
  }
  if (open >= 0) shape[as_index(open)] = inputs[0].count() / known;
  return reshaped(inputs[0], std::move(shape));
}

Result<std::vector<std::int64_t>> axes_of(Node& node, const Arrays& inputs) {
  return inputs.size() > 1 ? inputs[1].ints : node.attributes.integers("axes").value_or(std::vector<std::int64_t>{});
}

Result<HostArray> fold_unsqueeze(Node& node, const Arrays& inputs) {
  SLUICE_ASSIGN(const std::vector<std::int64_t> axes, axes_of(node, inputs));
  const std::size_t rank = inputs[0].shape.size() + axes.size();
  if (rank > 16) return node.error("has too many dimensions");
  std::set<std::int64_t> added;
  for (const std::int64_t stated : axes) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated, rank));
    if (!added.insert(axis).second) return node.error(fmt::format("adds axis {} twice", axis));
  }
  graph::Shape shape;
  auto next = inputs[0].shape.begin();
  for (std::size_t d = 0; d < rank; ++d) shape.push_back(added.contains(as_id<std::int64_t>(d)) ? 1 : *next++);
  return reshaped(inputs[0], std::move(shape));
}

Result<HostArray> fold_squeeze(Node& node, const Arrays& inputs) {
  SLUICE_ASSIGN(const std::vector<std::int64_t> axes, axes_of(node, inputs));
  const graph::Shape& x = inputs[0].shape;
  std::set<std::int64_t> dropped;
  for (const std::int64_t stated : axes) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(stated, x.size()));
    dropped.insert(axis);
  }
  graph::Shape shape;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const bool drop = axes.empty() ? x[d] == 1 : dropped.contains(as_id<std::int64_t>(d));
    if (!drop) shape.push_back(x[d]);
  }
  return reshaped(inputs[0], std::move(shape));
}

Result<HostArray> fold_expand(Node& node, const Arrays& inputs) {
  if (!inputs[1].is_integer) return node.error("needs a shape as input 1");
  return broadcast_to(inputs[0], inputs[1].ints);
}

Result<HostArray> fold_transpose(Node& node, const Arrays& inputs) {
  std::vector<std::int64_t> axes(inputs[0].shape.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  const std::vector<std::int64_t> perm = node.attributes.integers("perm").value_or(axes);
  if (!std::is_permutation(perm.begin(), perm.end(), axes.begin(), axes.end())) return node.error("has a wrong perm");
  HostArray result = inputs[0];
  for (std::size_t d = 0; d < perm.size(); ++d) result.shape[d] = inputs[0].shape[as_index(perm[d])];
  if (result.count() == 0) return result;
  result.ints = transpose_elements(inputs[0].ints, inputs[0].shape, perm);
  result.floats = transpose_elements(inputs[0].floats, inputs[0].shape, perm);
  return result;
}

Result<HostArray> fold_slice(Node& node, const Arrays& inputs) {
  const auto list = [&](std::size_t input, const char* attribute) {
    if (inputs.size() > input) return inputs[input].ints;
    return node.attributes.integers(attribute).value_or(std::vector<std::int64_t>{});
  };
  const auto starts = list(1, "starts");
  const auto ends = list(2, "ends");
  auto axes = list(3, "axes");
  auto steps = inputs.size() > 4 ? inputs[4].ints : std::vector<std::int64_t>(starts.size(), 1);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return node.error("needs as many starts as ends, axes and steps");
  }
  HostArray result = inputs[0];
  for (std::size_t i = 0; i < starts.size(); ++i) {
    SLUICE_ASSIGN(const std::int64_t axis, positive_axis(axes[i], result.shape.size()));
    SLUICE_ASSIGN(result, sliced(result, axis, starts[i], ends[i], steps[i]));
  }
  return result;
}

Result<HostArray> fold_identity(Node& /*node*/, const Arrays& inputs) { return inputs[0]; }

Result<HostArray> fold_where(Node& /*node*/, const Arrays& inputs) {
  return chosen_by(inputs[0], inputs[1], inputs[2]);
}

Result<HostArray> fold_trilu(Node& node, const Arrays& inputs) {
  const bool upper = node.attributes.integer("upper", 1) != 0;
  const std::int64_t diagonal = inputs.size() > 1 && inputs[1].count() == 1 ? integer_of(inputs[1].at(0)) : 0;
  return triangle(inputs[0], upper, diagonal);
}

// Sums, products, maxima of extents and the like; of one kind of numbers that stays.
Result<HostArray> fold_reduce(Node& node, const Arrays& inputs) {
  SLUICE_ASSIGN(const std::vector<std::int64_t> axes, axes_of(node, inputs));
  const bool keep = node.attributes.integer("keepdims", 1) != 0;
  const bool none = node.attributes.integer("noop_with_empty_axes", 0) != 0;
  return reduced(node.proto.op_type(), inputs[0], axes, none, keep);
}

Result<HostArray> fold_elementwise(Node& node, const Arrays& inputs) {
  const bool remainder = node.proto.op_type() == "Mod" && node.attributes.integer("fmod", 0) != 0;
  return computed_elementwise(remainder ? kRemainderOp : node.proto.op_type(), inputs.all());
}

const std::map<std::string, Fold>& folds() {
  static const std::map<std::string, Fold> table = [] {
    std::map<std::string, Fold> all{
        {"Constant", fold_constant},   {"ConstantOfShape", fold_constant_of_shape},
        {"Range", fold_range},         {"Cast", fold_cast},
        {"Gather", fold_gather},       {"Concat", fold_concat},
        {"Reshape", fold_reshape},     {"Unsqueeze", fold_unsqueeze},
        {"Squeeze", fold_squeeze},     {"Expand", fold_expand},
        {"Transpose", fold_transpose}, {"Slice", fold_slice},
        {"Identity", fold_identity},   {"Where", fold_where},
        {"Trilu", fold_trilu},         {"ReduceProd", fold_reduce},
        {"ReduceSum", fold_reduce},    {"ReduceMax", fold_reduce},
        {"ReduceMin", fold_reduce},
    };
    for (const std::string& name : elementwise_ops()) all[name] = fold_elementwise;
    return all;
  }();
  return table;
}

}  // namespace

bool is_folded(const std::string& op_type) {
  return op_type == "Shape" || op_type == "Size" || op_type == "EyeLike" || folds().contains(op_type);
}

std::vector<std::string> folded_ops() {
  std::vector<std::string> names = {"Shape", "Size", "EyeLike"};
  for (const auto& [name, fold] : folds()) names.push_back(name);
  return names;
}

Result<std::optional<std::vector<HostArray>>> fold_node(Node& node) {
  using Folded = std::optional<std::vector<HostArray>>;
  if (node.proto.op_type() == "Shape" || node.proto.op_type() == "Size") {
    SLUICE_ASSIGN(graph::Shape shape, node.shape(0));
    HostArray result =
        node.proto.op_type() == "Size" ? filled(graph::Shape{}, graph::element_count(shape)) : integers(shape);
    if (node.attributes.has("start") || node.attributes.has("end")) {
      const std::int64_t start = node.attributes.integer("start", 0);
      const std::int64_t end = node.attributes.integer("end", std::numeric_limits<std::int64_t>::max());
      SLUICE_ASSIGN(result, sliced(result, 0, start, end, 1));
    }
    result.from_shape = true;
    return Folded({std::move(result)});
  }
  if (node.proto.op_type() == "EyeLike") {
    SLUICE_ASSIGN(const graph::Shape shape, node.shape(0));
    node.attributes.ignore("dtype");
    SLUICE_ASSIGN(HostArray unit, unit_matrix(shape, node.attributes.integer("k", 0)));
    return Folded({std::move(unit)});
  }
  const auto fold = folds().find(node.proto.op_type());
  if (fold == folds().end()) return Folded();
  Arrays inputs;
  bool from_shape = false;
  for (int i = 0; i < node.inputs(); ++i) {
    const Value value = node.value(i);
    if (!node.has(i) && i + 1 == node.inputs()) break;
    if (value.kind != Value::Kind::kArray) return Folded();
    inputs.push_back(value.array);
    from_shape = from_shape || value.array->from_shape;
  }
  const std::size_t needed = fold->second == fold_range || fold->second == fold_where ? 3 : 1;
  const bool takes_two = fold->second == fold_gather || fold->second == fold_reshape || fold->second == fold_expand;
  if (inputs.size() < (takes_two ? 2 : needed) && fold->second != fold_constant) {
    return node.error(fmt::format("has {} inputs", inputs.size()));
  }
  SLUICE_ASSIGN(HostArray result, fold->second(node, inputs));
  result.from_shape = from_shape;
  return Folded({std::move(result)});
}

}  // namespace sluice::onnx
