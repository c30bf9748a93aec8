#include "sluice/onnx/convert/recurrence.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

constexpr std::int64_t kMostSteps = 1 << 14;

std::vector<std::string> stated_activations(Node& node) {
  node.attributes.ignore("activations");
  std::vector<std::string> names;
  for (const ::onnx::AttributeProto& attribute : node.proto.attribute()) {
    if (attribute.name() == "activations") names.assign(attribute.strings().begin(), attribute.strings().end());
  }
  return names;
}

// Part `direction` of a state [directions, B, H], or [B, directions, H]; -1 where there is none or it is zero.
Result<graph::TensorId> state_of(Node& node, int input, const Recurrence& recurrence, std::size_t direction,
                                 std::size_t directions, std::int64_t hidden) {
  if (!node.has(input)) return graph::TensorId{-1};
  if (node.is_constant(input)) {
    SLUICE_ASSIGN(const HostArray given, node.array(input));
    const auto zero = [](float value) { return value == 0; };
    if (!given.is_integer && std::all_of(given.floats.begin(), given.floats.end(), zero)) return graph::TensorId{-1};
  }
  SLUICE_ASSIGN(const graph::TensorId all, node.tensor(input));
  if (node.builder.failed()) return all;
  const auto count = as_id<std::int64_t>(directions);
  const std::int64_t axis = recurrence.batch_first ? 1 : 0;
  const graph::Shape wanted = recurrence.batch_first ? graph::Shape{recurrence.batch, count, hidden}
                                                     : graph::Shape{count, recurrence.batch, hidden};
  if (graph::element_count(node.builder.shape(all)) != graph::element_count(wanted)) {
    return node.error(fmt::format("has a state {}", graph::to_string(node.builder.shape(all))));
  }
  const auto which = as_id<std::int64_t>(direction);
  SLUICE_ASSIGN(const graph::TensorId own, take_along(node, reshape_to(node, all, wanted), axis, {which}));
  return reshape_to(node, own, {recurrence.batch, hidden});
}

Result<Direction> read_direction(Node& node, const Recurrence& recurrence, std::size_t index, std::size_t count,
                                 std::int64_t gates, std::int64_t features) {
  SLUICE_ASSIGN(const Weights w, node.weights(1, 3));
  SLUICE_ASSIGN(const Weights r, node.weights(2, 3));
  const std::int64_t hidden = r->shape[2];
  const auto directions = as_id<std::int64_t>(count);
  if (w->shape != graph::Shape{directions, gates * hidden, features} ||
      r->shape != graph::Shape{directions, gates * hidden, hidden}) {
    return node.error(fmt::format("has weights {} and {} for {} features", graph::to_string(w->shape),
                                  graph::to_string(r->shape), features));
  }
  if (node.attributes.integer("hidden_size", hidden) != hidden) return node.error("has another hidden_size than R");
  const auto which = as_id<std::int64_t>(index);
  const auto part = [&](const Weights& whole, graph::Shape shape) {
    return reshaped_weights(count == 1 ? whole : sliced_weights(whole, 0, which, which + 1), std::move(shape));
  };
  Direction direction;
  direction.hidden = hidden;
  direction.weight = part(w, {gates * hidden, features});
  direction.recurrent = part(r, {gates * hidden, hidden});
  direction.name = index == 0 ? node.name() : node.name() + ".reverse";
  if (node.has(3)) {
    SLUICE_ASSIGN(const Weights b, node.weights(3, 2));
    if (b->shape != graph::Shape{directions, 2 * gates * hidden}) {
      return node.error(fmt::format("has a bias {}", graph::to_string(b->shape)));
    }
    direction.bias = part(b, {2 * gates * hidden});
  }
  SLUICE_ASSIGN(direction.h, state_of(node, 5, recurrence, index, count, hidden));
  if (node.proto.op_type() == "LSTM") {
    SLUICE_ASSIGN(direction.c, state_of(node, 6, recurrence, index, count, hidden));
  }
  return direction;
}

Status read_lengths(Node& node, Recurrence& recurrence) {
  if (!node.has(4)) return {};
  SLUICE_ASSIGN(recurrence.lengths, node.integers(4));
  if (std::ssize(recurrence.lengths) != recurrence.batch) {
    return node.error("needs a length for each sequence");
  }
  for (const std::int64_t length : recurrence.lengths) {
    if (length < 1 || length > recurrence.steps) return node.error(fmt::format("has a sequence of {} steps", length));
  }
  const bool all = std::all_of(recurrence.lengths.begin(), recurrence.lengths.end(),
                               [&](auto length) { return length == recurrence.steps; });
  if (all) recurrence.lengths.clear();
  return {};
}

}  // namespace

Result<Recurrence> read_recurrence(Node& node, std::int64_t gates, const std::vector<std::string>& usual) {
  Recurrence recurrence;
  SLUICE_ASSIGN(recurrence.x, node.tensor(0));
  if (node.builder.failed()) return node.error("follows an op that failed");
  recurrence.batch_first = node.attributes.integer("layout", 0) != 0;
  if (node.builder.shape(recurrence.x).size() != 3) {
    return node.error(
        fmt::format("needs x of three dimensions, got {}", graph::to_string(node.builder.shape(recurrence.x))));
  }
  if (recurrence.batch_first) recurrence.x = transpose_to(node, recurrence.x, {1, 0, 2});
  const graph::Shape shape = node.builder.shape(recurrence.x);
  recurrence.steps = shape[0];
  recurrence.batch = shape[1];
  if (recurrence.steps > kMostSteps) {
    return node.error(fmt::format("has {} steps; at most {}", recurrence.steps, kMostSteps));
  }
  SLUICE_RETURN_IF_ERROR(read_lengths(node, recurrence));
  const std::string way = node.attributes.text("direction", "forward");
  const std::size_t count = way == "bidirectional" ? 2 : 1;
  if (count == 1 && way != "forward" && way != "reverse") return node.error(fmt::format("has the direction {}", way));
  std::vector<std::string> activations = stated_activations(node);
  if (activations.empty()) {
    for (std::size_t i = 0; i < count; ++i) activations.insert(activations.end(), usual.begin(), usual.end());
  }
  if (activations.size() != count * usual.size()) return node.error("has a wrong number of activations");
  for (std::size_t i = 0; i < count; ++i) {
    SLUICE_ASSIGN(Direction direction, read_direction(node, recurrence, i, count, gates, shape[2]));
    direction.backwards = i == 1 || way == "reverse";
    const auto first = iterator_at(activations, i * usual.size());
    direction.activations.assign(first, first + static_cast<std::ptrdiff_t>(usual.size()));
    recurrence.directions.push_back(std::move(direction));
  }
  return recurrence;
}

Result<graph::TensorId> activation_of(Node& node, const std::string& name, graph::TensorId x) {
  if (name == "Relu") return node.builder.relu(x);
  if (name == "Tanh") return apply(node, graph::UnaryFunction::kTanh, x);
  if (name == "Sigmoid") return apply(node, graph::UnaryFunction::kSigmoid, x);
  if (name == "HardSigmoid") return apply(node, graph::UnaryFunction::kHardSigmoid, x, 0.2F, 0.5F);
  if (name == "LeakyRelu") return apply(node, graph::UnaryFunction::kLeakyRelu, x, 0.01F);
  if (name == "Elu") return apply(node, graph::UnaryFunction::kElu, x, 1);
  if (name == "Softsign") return apply(node, graph::UnaryFunction::kSoftsign, x);
  if (name == "Softplus") return apply(node, graph::UnaryFunction::kSoftplus, x);
  return node.error(fmt::format("has the activation {}", name));
}

Result<graph::TensorId> bias_of(Node& node, const Direction& direction, std::int64_t gates) {
  if (direction.bias == nullptr) return graph::TensorId{-1};
  const std::int64_t rows = gates * direction.hidden;
  const auto part = [&](std::int64_t begin, const char* suffix) {
    return node.conversion.parameter(sliced_weights(direction.bias, 0, begin, begin + rows), direction.name + suffix);
  };
  SLUICE_ASSIGN(const graph::TensorId of_input, part(0, ".bias_ih"));
  SLUICE_ASSIGN(const graph::TensorId of_state, part(rows, ".bias_hh"));
  return combine(node, graph::BinaryFunction::kAdd, of_input, of_state);
}

Result<graph::TensorId> mask_of(Node& node, const Recurrence& recurrence, std::int64_t step) {
  const auto goes_on = [&](std::int64_t length) { return step < length; };
  if (std::all_of(recurrence.lengths.begin(), recurrence.lengths.end(), goes_on)) return graph::TensorId{-1};
  HostArray mask = filled(graph::Shape{recurrence.batch, 1}, 0.0F);
  for (std::size_t i = 0; i < recurrence.lengths.size(); ++i) mask.floats[i] = goes_on(recurrence.lengths[i]) ? 1 : 0;
  return constant(node, std::move(mask), fmt::format(".goes_on{}", step));
}

Result<graph::TensorId> kept_state(Node& node, graph::TensorId mask, graph::TensorId next, graph::TensorId before) {
  if (mask < 0) return next;
  SLUICE_ASSIGN(const graph::TensorId going, combine(node, graph::BinaryFunction::kMultiply, next, mask));
  if (before < 0) return going;
  SLUICE_ASSIGN(const graph::TensorId kept,
                combine(node, graph::BinaryFunction::kMultiply, before, affine(node, mask, -1, 1)));
  return combine(node, graph::BinaryFunction::kAdd, going, kept);
}

void set_recurrence(Node& node, const Recurrence& recurrence, const std::vector<DirectionResult>& results) {
  if (node.builder.failed()) return;
  const auto is_read = [&](int output) {
    return output < node.proto.output_size() && node.conversion.is_read(node.proto.output(output));
  };
  const std::int64_t hidden = recurrence.directions[0].hidden;
  const std::int64_t batch = recurrence.batch;
  const auto joined = [&](const std::vector<graph::TensorId>& parts, std::int64_t axis) {
    return parts.size() == 1 ? parts.front() : node.builder.concat(parts, axis);
  };
  if (is_read(0)) {
    std::vector<graph::TensorId> ways;
    for (const DirectionResult& result : results) {
      std::vector<graph::TensorId> rows;
      for (const graph::TensorId h : result.steps) rows.push_back(node.builder.reshape(h, {1, batch, hidden}));
      ways.push_back(node.builder.reshape(joined(rows, 0), {recurrence.steps, 1, batch, hidden}));
    }
    const graph::TensorId all = joined(ways, 1);
    node.set(recurrence.batch_first ? transpose_to(node, all, {2, 0, 1, 3}) : all);
  }
  const auto set_last = [&](int output, graph::TensorId DirectionResult::*state) {
    if (!is_read(output)) return;
    std::vector<graph::TensorId> ways;
    for (const DirectionResult& result : results) {
      ways.push_back(node.builder.reshape(result.*state, {1, batch, hidden}));
    }
    const graph::TensorId all = joined(ways, 0);
    node.set(recurrence.batch_first ? transpose_to(node, all, {1, 0, 2}) : all, output);
  };
  set_last(1, &DirectionResult::h);
  if (results[0].c >= 0) set_last(2, &DirectionResult::c);
}

}  // namespace sluice::onnx
