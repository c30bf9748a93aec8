// LSTM, GRU and RNN layers, unrolled: a projection of all steps, then the ops of each step. An LSTM as it usually is has a
// cell op for its step; others, and what is left of each step, are products and functions.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/onnx/convert/converters.hpp"
#include "sluice/onnx/convert/recurrence.hpp"
#include "sluice/onnx/convert/tensor_ops.hpp"

namespace sluice::onnx {
namespace {

Result<graph::TensorId> projected(Node& node, graph::TensorId x, graph::TensorId weight, graph::TensorId bias = -1) {
  std::vector<graph::TensorId> inputs = {x, weight};
  if (bias >= 0) inputs.push_back(bias);
  return node.add(graph::OpKind::kDense, {}, inputs);
}

// One step of what was projected for all: [B, G H].
graph::TensorId step_of(Node& node, graph::TensorId gates, const Recurrence& recurrence, std::int64_t step) {
  if (node.builder.failed()) return gates;
  const std::int64_t width = node.builder.shape(gates).back();
  const graph::TensorId own = recurrence.steps == 1 ? gates : node.builder.slice(gates, 0, step, step + 1);
  return reshape_to(node, own, {recurrence.batch, width});
}

graph::TensorId gate_of(Node& node, graph::TensorId gates, std::int64_t index, std::int64_t hidden) {
  return node.builder.slice(gates, 1, index * hidden, (index + 1) * hidden);
}

struct StepStates {
  graph::TensorId h = -1, c = -1;
};

// Runs `one(step, states)` for all steps of a direction; padding leaves states as they are and gives zeros.
template <typename One>
Result<DirectionResult> run_steps(Node& node, const Recurrence& recurrence, const Direction& direction,
                                  const One& one) {
  DirectionResult result;
  result.steps.assign(as_index(recurrence.steps), -1);
  StepStates states{direction.h, direction.c};
  for (std::int64_t i = 0; i < recurrence.steps && !node.builder.failed(); ++i) {
    const std::int64_t step = direction.backwards ? recurrence.steps - 1 - i : i;
    node.builder.begin_layer(fmt::format("{}.t{}", direction.name, step));
    SLUICE_ASSIGN(const graph::TensorId mask, mask_of(node, recurrence, step));
    SLUICE_ASSIGN(const StepStates next, one(step, states));
    SLUICE_ASSIGN(result.steps[as_index(step)], kept_state(node, mask, next.h, -1));
    SLUICE_ASSIGN(states.h, kept_state(node, mask, next.h, states.h));
    if (next.c >= 0) {
      SLUICE_ASSIGN(states.c, kept_state(node, mask, next.c, states.c));
    }
  }
  result.h = states.h;
  result.c = states.c;
  return result;
}

// Gates are in the order input, output, forget, cell in ONNX; the cell op's are input, forget, cell, output.
Weights reordered_gates(const Weights& x, std::int64_t hidden) {
  std::vector<Weights> gates;
  for (const std::int64_t gate : {0, 2, 3, 1}) {
    gates.push_back(sliced_weights(x, 0, gate * hidden, (gate + 1) * hidden));
  }
  return joined_weights(gates, 0);
}

Result<DirectionResult> usual_lstm(Node& node, const Recurrence& recurrence, Direction direction) {
  const std::int64_t hidden = direction.hidden;
  direction.weight = reordered_gates(direction.weight, hidden);
  direction.recurrent = reordered_gates(direction.recurrent, hidden);
  if (direction.bias != nullptr) {
    direction.bias =
        joined_weights({reordered_gates(sliced_weights(direction.bias, 0, 0, 4 * hidden), hidden),
                        reordered_gates(sliced_weights(direction.bias, 0, 4 * hidden, 8 * hidden), hidden)},
                       0);
  }
  const auto named = [&](const Weights& weights, const char* suffix) {
    return node.conversion.parameter(weights, direction.name + suffix);
  };
  SLUICE_ASSIGN(const graph::TensorId weight, named(direction.weight, ".weight_ih"));
  SLUICE_ASSIGN(const graph::TensorId recurrent, named(direction.recurrent, ".weight_hh"));
  SLUICE_ASSIGN(const graph::TensorId bias, bias_of(node, direction, 4));
  if ((direction.h < 0) != (direction.c < 0)) {
    graph::TensorId& missing = direction.h < 0 ? direction.h : direction.c;
    SLUICE_ASSIGN(missing, constant(node, filled(graph::Shape{recurrence.batch, hidden}, 0.0F), ".zero_state"));
  }
  SLUICE_ASSIGN(const graph::TensorId gates, projected(node, recurrence.x, weight, bias));
  return run_steps(node, recurrence, direction, [&](std::int64_t step, const StepStates& states) -> Result<StepStates> {
    const graph::LstmState next =
        node.builder.lstm_cell(step_of(node, gates, recurrence, step), {states.h, states.c}, recurrent);
    return StepStates{next.h, next.c};
  });
}

// x + weight * state, where there is a peephole and a state.
Result<graph::TensorId> peeped(Node& node, graph::TensorId x, graph::TensorId weight, graph::TensorId state) {
  if (weight < 0 || state < 0) return x;
  SLUICE_ASSIGN(const graph::TensorId seen, combine(node, graph::BinaryFunction::kMultiply, state, weight));
  return combine(node, graph::BinaryFunction::kAdd, x, seen);
}

struct OtherLstm {
  graph::TensorId gates = -1, recurrent = -1;
  graph::TensorId peepholes[3] = {-1, -1, -1};  // input, output, forget
  bool coupled = false;
};

Result<StepStates> other_lstm_step(Node& node, const OtherLstm& lstm, const Direction& direction, graph::TensorId gates,
                                   const StepStates& states) {
  const std::int64_t hidden = direction.hidden;
  const auto& names = direction.activations;
  if (states.h >= 0) {
    SLUICE_ASSIGN(const graph::TensorId before, projected(node, states.h, lstm.recurrent));
    SLUICE_ASSIGN(gates, combine(node, graph::BinaryFunction::kAdd, gates, before));
  }
  SLUICE_ASSIGN(const graph::TensorId in, peeped(node, gate_of(node, gates, 0, hidden), lstm.peepholes[0], states.c));
  SLUICE_ASSIGN(const graph::TensorId input, activation_of(node, names[0], in));
  SLUICE_ASSIGN(const graph::TensorId cell, activation_of(node, names[1], gate_of(node, gates, 3, hidden)));
  StepStates next;
  SLUICE_ASSIGN(next.c, combine(node, graph::BinaryFunction::kMultiply, input, cell));
  if (states.c >= 0) {
    graph::TensorId forget = affine(node, input, -1, 1);
    if (!lstm.coupled) {
      SLUICE_ASSIGN(const graph::TensorId f,
                    peeped(node, gate_of(node, gates, 2, hidden), lstm.peepholes[2], states.c));
      SLUICE_ASSIGN(forget, activation_of(node, names[0], f));
    }
    SLUICE_ASSIGN(const graph::TensorId kept, combine(node, graph::BinaryFunction::kMultiply, forget, states.c));
    SLUICE_ASSIGN(next.c, combine(node, graph::BinaryFunction::kAdd, kept, next.c));
  }
  SLUICE_ASSIGN(const graph::TensorId o, peeped(node, gate_of(node, gates, 1, hidden), lstm.peepholes[1], next.c));
  SLUICE_ASSIGN(const graph::TensorId output, activation_of(node, names[0], o));
  SLUICE_ASSIGN(const graph::TensorId shown, activation_of(node, names[2], next.c));
  SLUICE_ASSIGN(next.h, combine(node, graph::BinaryFunction::kMultiply, output, shown));
  return next;
}

// With peepholes, other activations or a forget gate that is the input gate's opposite.
Result<DirectionResult> other_lstm(Node& node, const Recurrence& recurrence, const Direction& direction,
                                   std::size_t index) {
  const std::int64_t hidden = direction.hidden;
  OtherLstm lstm;
  lstm.coupled = node.attributes.integer("input_forget", 0) != 0;
  SLUICE_ASSIGN(const graph::TensorId weight,
                node.conversion.parameter(direction.weight, direction.name + ".weight_ih"));
  SLUICE_ASSIGN(lstm.recurrent, node.conversion.parameter(direction.recurrent, direction.name + ".weight_hh"));
  if (node.has(7)) {
    SLUICE_ASSIGN(const Weights all, node.weights(7, 2));
    if (all->shape != graph::Shape{std::ssize(recurrence.directions), 3 * hidden}) {
      return node.error(fmt::format("has peepholes {}", graph::to_string(all->shape)));
    }
    const Weights own = reshaped_weights(
        sliced_weights(all, 0, as_id<std::int64_t>(index), as_id<std::int64_t>(index) + 1), {3 * hidden});
    for (std::int64_t i = 0; i < 3; ++i) {
      SLUICE_ASSIGN(lstm.peepholes[i], node.conversion.parameter(sliced_weights(own, 0, i * hidden, (i + 1) * hidden),
                                                                 fmt::format("{}.peephole{}", direction.name, i)));
    }
  }
  SLUICE_ASSIGN(const graph::TensorId bias, bias_of(node, direction, 4));
  SLUICE_ASSIGN(lstm.gates, projected(node, recurrence.x, weight, bias));
  return run_steps(node, recurrence, direction, [&](std::int64_t step, const StepStates& states) {
    return other_lstm_step(node, lstm, direction, step_of(node, lstm.gates, recurrence, step), states);
  });
}

Status convert_lstm(Node& node) {
  SLUICE_ASSIGN(const Recurrence recurrence, read_recurrence(node, 4, {"Sigmoid", "Tanh", "Tanh"}));
  const bool coupled = node.attributes.integer("input_forget", 0) != 0;
  std::vector<DirectionResult> results;
  for (std::size_t i = 0; i < recurrence.directions.size(); ++i) {
    const Direction& direction = recurrence.directions[i];
    const bool usual = direction.activations == std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"} && !coupled &&
                       !node.has(7) && recurrence.lengths.empty();
    SLUICE_ASSIGN(DirectionResult result,
                  usual ? usual_lstm(node, recurrence, direction) : other_lstm(node, recurrence, direction, i));
    results.push_back(std::move(result));
  }
  set_recurrence(node, recurrence, results);
  return {};
}

// Update, reset and new gate. `late`: the reset gate works behind the product with the state, which has a bias then.
struct Gru {
  graph::TensorId gates = -1, recurrent_gates = -1, recurrent_new = -1, bias_new = -1;
  bool late = false;
};

// Of the gates the sum of both biases, of the new state the input's; its other is added behind the reset gate.
Result<graph::TensorId> late_bias_of(Node& node, const Direction& direction, Gru& gru) {
  if (direction.bias == nullptr) return graph::TensorId{-1};
  const auto part = [&](std::int64_t begin, std::int64_t end, const char* suffix) {
    return node.conversion.parameter(
        sliced_weights(direction.bias, 0, begin * direction.hidden, end * direction.hidden), direction.name + suffix);
  };
  SLUICE_ASSIGN(const graph::TensorId of_input, part(0, 2, ".bias_ih_gates"));
  SLUICE_ASSIGN(const graph::TensorId of_state, part(3, 5, ".bias_hh_gates"));
  SLUICE_ASSIGN(const graph::TensorId input_new, part(2, 3, ".bias_ih_new"));
  SLUICE_ASSIGN(gru.bias_new, part(5, 6, ".bias_hh_new"));
  SLUICE_ASSIGN(const graph::TensorId gates, combine(node, graph::BinaryFunction::kAdd, of_input, of_state));
  return node.builder.concat({gates, input_new}, 0);
}

Result<Gru> read_gru(Node& node, const Recurrence& recurrence, const Direction& direction) {
  const std::int64_t hidden = direction.hidden;
  Gru gru;
  gru.late = node.attributes.integer("linear_before_reset", 0) != 0;
  const auto named = [&](const Weights& weights, const char* suffix) {
    return node.conversion.parameter(weights, direction.name + suffix);
  };
  SLUICE_ASSIGN(const graph::TensorId weight, named(direction.weight, ".weight_ih"));
  SLUICE_ASSIGN(gru.recurrent_gates, named(sliced_weights(direction.recurrent, 0, 0, 2 * hidden), ".weight_hh_gates"));
  SLUICE_ASSIGN(gru.recurrent_new,
                named(sliced_weights(direction.recurrent, 0, 2 * hidden, 3 * hidden), ".weight_hh_new"));
  SLUICE_ASSIGN(const graph::TensorId bias,
                gru.late ? late_bias_of(node, direction, gru) : bias_of(node, direction, 3));
  SLUICE_ASSIGN(gru.gates, projected(node, recurrence.x, weight, bias));
  return gru;
}

// The new state before it is mixed with the one before.
Result<graph::TensorId> proposed_state(Node& node, const Gru& gru, graph::TensorId fresh, graph::TensorId reset,
                                       graph::TensorId before) {
  if (before >= 0 && !gru.late) {
    SLUICE_ASSIGN(const graph::TensorId left, combine(node, graph::BinaryFunction::kMultiply, reset, before));
    SLUICE_ASSIGN(const graph::TensorId part, projected(node, left, gru.recurrent_new));
    return combine(node, graph::BinaryFunction::kAdd, fresh, part);
  }
  if (!gru.late || (before < 0 && gru.bias_new < 0)) return fresh;
  graph::TensorId part = gru.bias_new;
  if (before >= 0) {
    SLUICE_ASSIGN(part, projected(node, before, gru.recurrent_new, gru.bias_new));
  }
  SLUICE_ASSIGN(const graph::TensorId left, combine(node, graph::BinaryFunction::kMultiply, reset, part));
  return combine(node, graph::BinaryFunction::kAdd, fresh, left);
}

Result<StepStates> gru_step(Node& node, const Gru& gru, const Direction& direction, graph::TensorId gates,
                            const StepStates& states) {
  const std::int64_t hidden = direction.hidden;
  graph::TensorId both = node.builder.slice(gates, 1, 0, 2 * hidden);
  if (states.h >= 0) {
    SLUICE_ASSIGN(const graph::TensorId before, projected(node, states.h, gru.recurrent_gates));
    SLUICE_ASSIGN(both, combine(node, graph::BinaryFunction::kAdd, both, before));
  }
  SLUICE_ASSIGN(both, activation_of(node, direction.activations[0], both));
  const graph::TensorId update = gate_of(node, both, 0, hidden);
  const graph::TensorId reset = gate_of(node, both, 1, hidden);
  SLUICE_ASSIGN(const graph::TensorId proposed,
                proposed_state(node, gru, gate_of(node, gates, 2, hidden), reset, states.h));
  SLUICE_ASSIGN(const graph::TensorId fresh, activation_of(node, direction.activations[1], proposed));
  StepStates next;
  SLUICE_ASSIGN(next.h, combine(node, graph::BinaryFunction::kMultiply, affine(node, update, -1, 1), fresh));
  if (states.h < 0) return next;
  SLUICE_ASSIGN(const graph::TensorId kept, combine(node, graph::BinaryFunction::kMultiply, update, states.h));
  SLUICE_ASSIGN(next.h, combine(node, graph::BinaryFunction::kAdd, next.h, kept));
  return next;
}

Status convert_gru(Node& node) {
  SLUICE_ASSIGN(const Recurrence recurrence, read_recurrence(node, 3, {"Sigmoid", "Tanh"}));
  std::vector<DirectionResult> results;
  for (const Direction& direction : recurrence.directions) {
    SLUICE_ASSIGN(const Gru gru, read_gru(node, recurrence, direction));
    SLUICE_ASSIGN(DirectionResult result,
                  run_steps(node, recurrence, direction, [&](std::int64_t step, const StepStates& states) {
                    return gru_step(node, gru, direction, step_of(node, gru.gates, recurrence, step), states);
                  }));
    results.push_back(std::move(result));
  }
  set_recurrence(node, recurrence, results);
  return {};
}

Status convert_rnn(Node& node) {
  SLUICE_ASSIGN(const Recurrence recurrence, read_recurrence(node, 1, {"Tanh"}));
  std::vector<DirectionResult> results;
  for (const Direction& direction : recurrence.directions) {
    SLUICE_ASSIGN(const graph::TensorId weight,
                  node.conversion.parameter(direction.weight, direction.name + ".weight_ih"));
    SLUICE_ASSIGN(const graph::TensorId recurrent,
                  node.conversion.parameter(direction.recurrent, direction.name + ".weight_hh"));
    SLUICE_ASSIGN(const graph::TensorId bias, bias_of(node, direction, 1));
    SLUICE_ASSIGN(const graph::TensorId gates, projected(node, recurrence.x, weight, bias));
    const auto one = [&](std::int64_t step, const StepStates& states) -> Result<StepStates> {
      graph::TensorId sum = step_of(node, gates, recurrence, step);
      if (states.h >= 0) {
        SLUICE_ASSIGN(const graph::TensorId before, projected(node, states.h, recurrent));
        SLUICE_ASSIGN(sum, combine(node, graph::BinaryFunction::kAdd, sum, before));
      }
      StepStates next;
      SLUICE_ASSIGN(next.h, activation_of(node, direction.activations[0], sum));
      return next;
    };
    SLUICE_ASSIGN(DirectionResult result, run_steps(node, recurrence, direction, one));
    results.push_back(std::move(result));
  }
  set_recurrence(node, recurrence, results);
  return {};
}

}  // namespace

void add_recurrent_converters(ConverterTable& table) {
  table["LSTM"] = {convert_lstm, "of known lengths"};
  table["GRU"] = {convert_gru, "of known lengths"};
  table["RNN"] = {convert_rnn, "of known lengths"};
}

}  // namespace sluice::onnx
