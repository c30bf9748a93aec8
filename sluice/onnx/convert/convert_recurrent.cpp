// LSTM layers, unrolled: a projection of all steps, then a cell op a step.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/onnx/convert/converters.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kMostSteps = 1 << 14;

// Gates are in the order input, output, forget, cell in ONNX; ours are input, forget, cell, output.
Weights reordered_gates(const Weights& x, std::int64_t hidden) {
  std::vector<Weights> gates;
  for (const std::int64_t gate : {0, 2, 3, 1}) {
    gates.push_back(sliced_weights(x, 0, gate * hidden, (gate + 1) * hidden));
  }
  return joined_weights(gates, 0);
}

struct LstmParameters {
  std::int64_t hidden = 0;
  TensorId weight = -1, recurrent = -1, bias = -1;  // [4H, in], [4H, H], [4H]; no bias: -1
};

Result<LstmParameters> lstm_parameters(Node& node, std::int64_t features) {
  SLUICE_ASSIGN(const Weights w, node.weights(1, 3));
  SLUICE_ASSIGN(const Weights r, node.weights(2, 3));
  LstmParameters result;
  const std::int64_t hidden = result.hidden = r->shape[2];
  const Shape of_input = {1, 4 * hidden, features};
  const Shape of_state = {1, 4 * hidden, hidden};
  if (w->shape != of_input || r->shape != of_state) {
    return node.error(
        fmt::format("has weights {} and {} for {} features", to_string(w->shape), to_string(r->shape), features));
  }
  if (node.attributes.integer("hidden_size", hidden) != hidden) return node.error("has another hidden_size than R");
  const auto named = [&](const Weights& weights, const char* suffix) {
    return node.conversion.parameter(weights, node.name() + suffix);
  };
  const Weights weight = reordered_gates(reshaped_weights(w, {4 * hidden, features}), hidden);
  SLUICE_ASSIGN(result.weight, named(weight, ".weight_ih"));
  const Weights recurrent = reordered_gates(reshaped_weights(r, {4 * hidden, hidden}), hidden);
  SLUICE_ASSIGN(result.recurrent, named(recurrent, ".weight_hh"));
  if (!node.has(3)) return result;
  SLUICE_ASSIGN(const Weights b, node.weights(3, 2));
  const Shape both = {1, 8 * hidden};
  if (b->shape != both) return node.error(fmt::format("has a bias {}", to_string(b->shape)));
  const Weights flat = reshaped_weights(b, {8 * hidden});
  const Weights of_w = reordered_gates(sliced_weights(flat, 0, 0, 4 * hidden), hidden);
  const Weights of_r = reordered_gates(sliced_weights(flat, 0, 4 * hidden, 8 * hidden), hidden);
  SLUICE_ASSIGN(result.bias, named(summed_weights(of_w, of_r), ".bias"));
  return result;
}

// The state before the first step: none where it is zero.
Result<TensorId> initial_state(Node& node, int input, const Shape& shape) {
  if (!node.has(input)) return TensorId{-1};
  if (node.is_constant(input)) {
    SLUICE_ASSIGN(const HostArray given, node.array(input));
    const bool zero = std::all_of(given.floats.begin(), given.floats.end(), [](float value) { return value == 0; });
    if (!given.is_integer && zero) return TensorId{-1};
  }
  if (node.value(input).kind != Value::Kind::kTensor) return node.error("starts from a state that is not zero");
  SLUICE_ASSIGN(const TensorId state, node.tensor(input));
  if (element_count(node.builder.shape(state)) != element_count(shape))
    return node.error("has a state of another size");
  return node.builder.reshape(state, shape);
}

Status check_lstm(Node& node, std::int64_t steps) {
  NodeAttributes& attributes = node.attributes;
  attributes.ignore("activations");
  for (const onnx::AttributeProto& attribute : node.proto.attribute()) {
    if (attribute.name() != "activations") continue;
    const bool usual = attribute.strings_size() == 3 && attribute.strings(0) == "Sigmoid" &&
                       attribute.strings(1) == "Tanh" && attribute.strings(2) == "Tanh";
    if (!usual) return node.error("has activations other than Sigmoid, Tanh, Tanh");
  }
  if (attributes.text("direction", "forward") != "forward") return node.error("runs in another direction than forward");
  if (attributes.integer("layout", 0) != 0) return node.error("has the batch first (layout 1)");
  if (attributes.integer("input_forget", 0) != 0) return node.error("couples its input and forget gates");
  if (node.has(7)) return node.error("has peepholes");
  if (steps > kMostSteps) return node.error(fmt::format("has {} steps; at most {}", steps, kMostSteps));
  if (!node.has(4)) return {};
  SLUICE_ASSIGN(const HostArray lengths, node.array(4));
  for (std::int64_t i = 0; i < lengths.count(); ++i) {
    if (lengths.at(i) != static_cast<double>(steps)) return node.error("has sequences of different lengths");
  }
  return {};
}

Status convert_lstm(Node& node) {
  SLUICE_ASSIGN(const TensorId x, node.tensor(0));
  GraphBuilder& builder = node.builder;
  const Shape shape = builder.shape(x);
  if (shape.size() != 3) return node.error(fmt::format("needs x [T, B, features], got {}", to_string(shape)));
  const auto [steps, batch] = std::pair(shape[0], shape[1]);
  SLUICE_RETURN_IF_ERROR(check_lstm(node, steps));
  SLUICE_ASSIGN(const LstmParameters parameters, lstm_parameters(node, shape[2]));
  const std::int64_t hidden = parameters.hidden;
  LstmState state;
  SLUICE_ASSIGN(state.h, initial_state(node, 5, {batch, hidden}));
  SLUICE_ASSIGN(state.c, initial_state(node, 6, {batch, hidden}));
  if ((state.h < 0) != (state.c < 0)) return node.error("starts from a state of which one half is zero");
  std::vector<TensorId> inputs = {x, parameters.weight};
  if (parameters.bias >= 0) inputs.push_back(parameters.bias);
  SLUICE_ASSIGN(const TensorId gates, node.add(OpKind::kDense, {}, inputs));
  std::vector<TensorId> outputs;
  for (std::int64_t t = 0; t < steps && !builder.failed(); ++t) {
    builder.begin_layer(fmt::format("{}.t{}", node.name(), t));
    const TensorId step = steps == 1 ? gates : builder.slice(gates, 0, t, t + 1);
    state = builder.lstm_cell(builder.reshape(step, {batch, 4 * hidden}), state, parameters.recurrent);
    outputs.push_back(state.h);
  }
  if (builder.failed()) return {};
  const auto is_read = [&](int output) {
    return output < node.proto.output_size() && node.conversion.is_read(node.proto.output(output));
  };
  if (is_read(0)) {
    std::vector<TensorId> rows;
    for (const TensorId h : outputs) rows.push_back(builder.reshape(h, {1, batch, hidden}));
    const TensorId all = rows.size() == 1 ? rows.front() : builder.concat(rows, 0);
    node.set(builder.reshape(all, {steps, 1, batch, hidden}));
  }
  if (is_read(1)) node.set(builder.reshape(state.h, {1, batch, hidden}), 1);
  if (is_read(2)) node.set(builder.reshape(state.c, {1, batch, hidden}), 2);
  return {};
}

}  // namespace

void add_recurrent_converters(ConverterTable& table) { table["LSTM"] = convert_lstm; }

}  // namespace sluice
