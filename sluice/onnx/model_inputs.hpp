// What the inputs of a model are: images, tokens, segments, or something that has one value while training (attention
// masks of ones, initial states of zeros); and how large, once batch and sequence length are chosen. Where all are given
// (OnnxOptions::given), each is data as it is: tokens, or numbers and integers of any shape.
//
// Errors (kBadInput): inputs without a shape, extents of zero, kinds that no data source fills, lengths that the file
// does not leave open.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sluice/onnx/convert/conversion.hpp"
#include "sluice/onnx/import.hpp"

namespace sluice::onnx {

struct ModelInput {
  std::string name;
  graph::Content content = graph::Content::kNone;  // kNone: `constant` instead
  graph::Shape shape;                              // as the model sees it
  bool time_major = false;                         // tokens [T, B] of the model
  std::int64_t bound = 0;                          // tokens: the vocabulary
  HostArray constant;
};

struct ModelInputs {
  std::vector<ModelInput> list;  // the data first
  std::int64_t batch = 0, file_batch = 0;
  std::vector<std::string> notes;

  const ModelInput& data() const { return list.front(); }
  bool has_tokens() const { return data().content == graph::Content::kTokens; }
};

// `live`: the nodes that the loss needs; inputs that none of them reads are left out.
Result<ModelInputs> find_inputs(const ::onnx::GraphProto& graph, const Network& network,
                                const Initializers& initializers, const std::set<const ::onnx::NodeProto*>& live,
                                const OnnxOptions& options);

}  // namespace sluice::onnx
