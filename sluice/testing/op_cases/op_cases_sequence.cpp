#include <algorithm>

#include "sluice/testing/op_cases/case_builder.hpp"

namespace sluice::testing {
namespace {

// An embedding whose rows are in several tensors of `slice` rows; `computed`: its ids are made by an op, in fp32.
OpCase embedding_case(const graph::Shape& ids_shape, std::int64_t vocabulary, std::int64_t features, std::int64_t slice,
                      bool computed = false) {
  CaseBuilder builder(std::string(computed ? "computed " : "") + "embedding " + graph::to_string(ids_shape) + " of " +
                      graph::to_string(graph::Shape{vocabulary, features}) + " by " + std::to_string(slice));
  graph::Shape y_shape = ids_shape;
  y_shape.push_back(features);
  graph::TensorId ids = builder.integers("ids", ids_shape, vocabulary);
  if (computed) {
    const graph::TensorId numbers = builder.tensor("numbers", ids_shape);
    builder.op(graph::OpKind::kCast, {}, {ids}, {numbers});
    ids = numbers;
  }
  const graph::TensorId y = builder.tensor("y", y_shape);
  const graph::TensorId dy = builder.gradient("dy", y_shape);
  for (std::int64_t begin = 0; begin < vocabulary; begin += slice) {
    const std::int64_t rows = std::min(slice, vocabulary - begin);
    const std::string suffix = std::to_string(begin);
    graph::Slice share;
    if (slice < vocabulary) share = {.begin = begin, .end = begin + rows, .partial = begin > 0};
    const graph::TensorId w = builder.parameter("w" + suffix, {rows, features});
    std::vector<graph::TensorId> inputs{ids, w};
    if (share.partial) inputs.push_back(y);
    builder.op_of_slice(graph::OpKind::kEmbedding, share, inputs, {y});
    share.partial = false;
    builder.op_of_slice(graph::OpKind::kEmbeddingBackward, share, {ids, dy},
                        {builder.parameter_gradient("dw" + suffix, {rows, features})});
    builder.claim({"y", "dy", "w" + suffix, "dw" + suffix});
  }
  return builder.finish();
}

// One table looked up twice, with its rows in tensors of `slice`: the second gradient is added to the first.
OpCase shared_embedding_case(std::int64_t vocabulary, std::int64_t features, std::int64_t slice) {
  CaseBuilder builder("embedding used twice " + graph::to_string(graph::Shape{vocabulary, features}) + " by " +
                      std::to_string(slice));
  const graph::Shape y_shape{2, 6, features};
  const graph::TensorId dy = builder.gradient("dy", y_shape);
  const std::vector<graph::TensorId> ids{builder.integers("ids1", {2, 6}, vocabulary),
                                         builder.integers("ids2", {2, 6}, vocabulary)};
  const std::vector<graph::TensorId> results{builder.tensor("y1", y_shape), builder.tensor("y2", y_shape)};
  for (std::int64_t begin = 0; begin < vocabulary; begin += slice) {
    const graph::Shape w_shape{std::min(slice, vocabulary - begin), features};
    const std::string suffix = std::to_string(begin);
    const graph::TensorId w = builder.parameter("w" + suffix, w_shape);
    const graph::TensorId dw = builder.parameter_gradient("dw" + suffix, w_shape);
    graph::Slice share;
    if (slice < vocabulary) share = {.begin = begin, .end = begin + w_shape[0]};
    for (std::size_t use = 0; use < 2; ++use) {
      share.partial = begin > 0;
      std::vector<graph::TensorId> inputs{ids[use], w};
      if (share.partial) inputs.push_back(results[use]);
      builder.op_of_slice(graph::OpKind::kEmbedding, share, inputs, {results[use]});
      share.partial = false;
      graph::Slice backward = share;
      backward.accumulate = use > 0;
      std::vector<graph::TensorId> backward_inputs{ids[use], dy};
      if (backward.accumulate) backward_inputs.push_back(dw);
      builder.op_of_slice(graph::OpKind::kEmbeddingBackward, backward, backward_inputs, {dw});
    }
    builder.claim({"y", "dy", "w" + suffix, "dw" + suffix});
  }
  builder.op(graph::OpKind::kAdd, {}, results, {builder.tensor("y", y_shape)});
  return builder.finish();
}

struct CellTensors {
  graph::TensorId gates_x, h, c, gates;
};

// Three steps of an LSTM: the first has no state before it, the last nobody behind it. The gradient comes to the last h
// alone and goes back through h and c.
OpCase lstm_case(std::int64_t batch, std::int64_t hidden) {
  CaseBuilder builder("lstm of three steps " + graph::to_string(graph::Shape{batch, hidden}));
  const graph::Shape gates_shape{batch, 4 * hidden};
  const graph::Shape state_shape{batch, hidden};
  const graph::Shape w_shape{4 * hidden, hidden};
  const graph::TensorId w = builder.parameter("w", w_shape);
  std::vector<CellTensors> steps;
  for (const char* step : {"1", "2", "3"}) {
    const CellTensors cell{builder.tensor(std::string("gates_x") + step, gates_shape),
                           builder.tensor(std::string("h") + step, state_shape),
                           builder.tensor(std::string("c") + step, state_shape),
                           builder.tensor(std::string("gates") + step, gates_shape)};
    std::vector<graph::TensorId> inputs{cell.gates_x};
    if (!steps.empty()) inputs.insert(inputs.end(), {steps.back().h, steps.back().c, w});
    builder.op(graph::OpKind::kLstmCell, graph::RecurrentAttributes{.state = !steps.empty()}, inputs,
               {cell.h, cell.c, cell.gates});
    steps.push_back(cell);
  }
  const graph::TensorId dw = builder.parameter_gradient("dw", w_shape);
  graph::TensorId dh = builder.gradient("dh3", state_shape);
  graph::TensorId dc = -1;
  for (std::size_t i = 3; i-- > 0;) {
    const graph::RecurrentAttributes attributes{.state = i > 0, .carry = i < 2};
    const std::string name = std::to_string(i + 1);
    const graph::TensorId dgates = builder.gradient("dgates" + name, gates_shape);
    std::vector<graph::TensorId> inputs{dh, steps[i].gates, steps[i].c};
    std::vector<graph::TensorId> outputs{dgates};
    if (attributes.state) inputs.insert(inputs.end(), {steps[i - 1].c, w});
    if (attributes.carry) inputs.push_back(dc);
    if (attributes.state) {
      dh = builder.gradient("dh" + std::to_string(i), state_shape);
      dc = builder.gradient("dc" + std::to_string(i), state_shape);
      outputs.insert(outputs.end(), {dh, dc});
    }
    builder.op(graph::OpKind::kLstmCellBackward, attributes, inputs, outputs);
    builder.claim({"h3", "dh3", "gates_x" + name, "dgates" + name});
    if (!attributes.state) continue;
    std::vector<graph::TensorId> weight_inputs{steps[i - 1].h, dgates};
    if (attributes.carry) weight_inputs.push_back(dw);
    builder.op_of_slice(graph::OpKind::kDenseBackwardWeights, {.accumulate = attributes.carry}, weight_inputs, {dw});
  }
  builder.claim({"h3", "dh3", "w", "dw"});
  return builder.finish();
}

}  // namespace

void add_sequence_cases(std::vector<OpCase>& cases) {
  cases.push_back(embedding_case({2, 7}, 11, 16, 11));
  cases.push_back(embedding_case({9}, 5, 10, 5));
  cases.push_back(embedding_case({3, 8}, 20, 24, 8));
  cases.push_back(embedding_case({2, 7}, 11, 16, 11, true));
  cases.push_back(shared_embedding_case(9, 20, 9));
  cases.push_back(shared_embedding_case(11, 16, 4));
  cases.push_back(lstm_case(3, 16));
  cases.push_back(lstm_case(2, 10));
  cases.push_back(lstm_case(1, 33));
}

}  // namespace sluice::testing
