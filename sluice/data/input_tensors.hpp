// What a step takes from outside: the tensors of the graph's input op, in its order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/graph/graph.hpp"

namespace sluice::data {

struct InputTensor {
  std::string name;
  graph::Content content = graph::Content::kNone;
  graph::Shape shape;
  std::int64_t bound = 0;  // integer contents: one above the largest value

  std::int64_t batch() const { return shape.empty() ? 1 : shape.front(); }
  std::int64_t elements() const { return graph::element_count(shape); }
  std::int64_t sample_elements() const { return elements() / batch(); }
};

// Empty for a graph without an input op.
std::vector<InputTensor> input_tensors(const graph::Graph& graph);

const InputTensor* find_input(std::span<const InputTensor> tensors, graph::Content content);  // nullptr: there is none

// Samples a step takes: the first extent of the first input tensor, for each of its batches.
std::int64_t batch_size(const graph::Graph& graph);
// Batches that a step takes, one after the other (graph/rewrite/accumulate_gradients.hpp).
std::int64_t batches_a_step(const graph::Graph& graph);

std::string_view content_name(graph::Content content);  // "images"

// "images [16, 3, 224, 224], labels [16] of 1000"
std::string describe_inputs(std::span<const InputTensor> tensors);

}  // namespace sluice::data
