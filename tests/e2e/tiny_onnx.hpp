// A small ONNX file, written byte by byte, so that tests need neither PyTorch nor a file in the repository:
// Conv 3x3 with bias, Relu, GlobalAveragePool, Flatten, Gemm; images [batch, 3, 8, 8], 4 classes, opset 13.
#pragma once

#include <string>
#include <vector>

namespace sluice::tests {

struct TinyOnnx {
  std::vector<float> conv_weight, conv_bias, fc_weight, fc_bias;
};

struct TinyNames {
  std::string conv_weight = "conv.weight", fc_weight = "fc.weight";
};

TinyOnnx tiny_onnx_values();
void write_tiny_onnx(const std::string& path, const TinyOnnx& values, const TinyNames& names = {});

}  // namespace sluice::tests
