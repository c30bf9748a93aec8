// Runs models that tests make, forward on the oneDNN backend.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "sluice/kernels/backends/backends.hpp"
#include "tests/onnx/model_maker.hpp"
#include "tests/onnx/node_case.hpp"

namespace sluice::tests {

using Values = std::vector<float>;

inline onnx::HostArray wave(const graph::Shape& shape) {
  onnx::HostArray array = onnx::filled(shape, 0.0F);
  for (std::size_t i = 0; i < array.floats.size(); ++i) array.floats[i] = std::sin(0.7F * static_cast<float>(i) + 0.3F);
  return array;
}

inline onnx::HostArray numbers(const graph::Shape& shape, Values values) {
  onnx::HostArray array = onnx::filled(shape, 0.0F);
  array.floats = std::move(values);
  return array;
}

// The outputs of a model with inputs "x", ...
inline std::vector<Values> outputs_of(ModelMaker& maker, const std::vector<onnx::HostArray>& data) {
  const auto model = onnx::import_forward(maker.write());
  EXPECT_TRUE(model.ok()) << model.error().message;
  if (!model.ok()) return {};
  const auto results = run_inference(*model, *kernels::make_onednn_backend(), data);
  EXPECT_TRUE(results.ok()) << results.error().message;
  return results.ok() ? *results : std::vector<Values>{};
}

inline Values output_of(ModelMaker& maker, const onnx::HostArray& x) {
  const auto outputs = outputs_of(maker, {x});
  return outputs.empty() ? Values{} : outputs[0];
}

}  // namespace sluice::tests
