// What LSTM, GRU and RNN nodes have in common: directions, layouts, lengths, states, activations.
#pragma once

#include "sluice/onnx/convert/conversion.hpp"

namespace sluice::onnx {

// One direction of a node, its weights without the dimension of directions.
struct Direction {
  bool backwards = false;
  std::int64_t hidden = 0;
  Weights weight, recurrent, bias;       // [G H, in], [G H, H], [2 G H]; no bias: null
  graph::TensorId h = -1, c = -1;        // the states before the first step [B, H]; -1: zeros
  std::vector<std::string> activations;  // as many as the op has
  std::string name;                      // of its parameters
};

struct Recurrence {
  graph::TensorId x = -1;  // [T, B, in]
  std::int64_t steps = 0, batch = 0;
  bool batch_first = false;
  std::vector<std::int64_t> lengths;  // empty: all are T
  std::vector<Direction> directions;
};

// `gates`: how many the op has. `usual`: its activations by default. Errors: weights that do not fit, attributes that
// Sluice has not (clip, activation_alpha), lengths that are not known.
Result<Recurrence> read_recurrence(Node& node, std::int64_t gates, const std::vector<std::string>& usual);

// y = function(x), of the names that ONNX gives them.
Result<graph::TensorId> activation_of(Node& node, const std::string& name, graph::TensorId x);

// The sum of the biases of input and state [G H], each a parameter of its own; -1 where there are none.
Result<graph::TensorId> bias_of(Node& node, const Direction& direction, std::int64_t gates);

// For each step 1 where it belongs to its sequence, [B, 1]; -1 where all sequences go on.
Result<graph::TensorId> mask_of(Node& node, const Recurrence& recurrence, std::int64_t step);
// `next` where the sequence goes on, else `before` (-1: zeros).
Result<graph::TensorId> kept_state(Node& node, graph::TensorId mask, graph::TensorId next, graph::TensorId before);

// What the directions gave: for each all steps' states in the order of time, and the last ones.
struct DirectionResult {
  std::vector<graph::TensorId> steps;
  graph::TensorId h = -1, c = -1;
};
void set_recurrence(Node& node, const Recurrence& recurrence, const std::vector<DirectionResult>& results);

}  // namespace sluice::onnx
