#include <fmt/format.h>

#include "sluice/graph/builder/builder.hpp"
#include "sluice/models/networks.hpp"

namespace sluice::models {
namespace {

constexpr float kLstmWeightStddev = 0.05F / 1.7320508F;  // that of the paper's uniform [-0.05, 0.05)

}  // namespace

Result<graph::Graph> build_lstm(const std::string& name, const ModelOptions& options) {
  graph::GraphBuilder builder(name);
  builder.weight_init(kLstmWeightStddev);
  builder.begin_layer("input");
  const graph::Shape shape = {options.batch, options.sequence};
  const std::vector<graph::TensorId> data =
      builder.inputs({{"tokens", graph::Content::kTokens, shape, options.classes},
                      {"next_tokens", graph::Content::kNextTokens, shape, options.classes}});
  builder.begin_layer("embedding");
  graph::TensorId x = builder.embedding(data[0], options.classes, options.width);
  x = builder.dropout(builder.transpose(x, {1, 0, 2}), options.dropout);
  for (std::int64_t i = 0; i < options.depth; ++i) {
    builder.begin_layer(fmt::format("lstm{}", i + 1));
    x = builder.dropout(builder.lstm(x, options.width), options.dropout);
  }
  builder.begin_layer("decoder");
  x = builder.dense(builder.transpose(x, {1, 0, 2}), options.classes);
  builder.softmax_cross_entropy(x, data[1]);
  return builder.finish();
}

}  // namespace sluice::models
