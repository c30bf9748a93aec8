// One of ONNX' own tests of nodes: a folder with a model of a node or a few, inputs and the outputs they should give.
//
// Which inputs are data and which come with the model, as weights and shapes do, a test does not say. So every choice
// that the importer takes is run, from all of them data to none: each must give the outputs, within ONNX' tolerances.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "sluice/kernels/backend.hpp"
#include "sluice/onnx/forward_model.hpp"
#include "sluice/testing/op_cases/op_cases.hpp"

namespace sluice::tests {

struct NodeVerdict {
  int runs = 0;         // choices that the importer took
  int data = 0;         // inputs that were data in the first of them
  std::string refused;  // why the importer took none; empty: it took one
  std::string differs;  // what a run gave instead; empty: all gave what they should
  bool passes() const { return refused.empty() && differs.empty(); }
};

// Where the tests are, below $SLUICE_ONNX_TESTDATA or where Debian has them: of nodes, or of "pytorch-converted".
std::filesystem::path onnx_test_data(const std::string& kind = "node");
std::vector<std::filesystem::path> folders_in(const std::filesystem::path& data);  // in order

class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::set<std::string> ops_of_node_case(const std::filesystem::path& folder);

// `scratch`: a folder to write models to.
NodeVerdict run_node_case(const std::filesystem::path& folder, kernels::Backend& backend,
                          const std::filesystem::path& scratch);

// What the model's outputs are with this data, in the order of its inputs.
Result<std::vector<std::vector<float>>> run_inference(const onnx::InferenceModel& model, kernels::Backend& backend,
                                                      const std::vector<onnx::HostArray>& data);

// The model with all its inputs as weights, and what these are, by tensor.
Result<onnx::InferenceModel> import_node_of_weights(const std::filesystem::path& folder,
                                                    const std::filesystem::path& scratch);
Result<testing::NamedValues> given_weights_of(const onnx::InferenceModel& model);

}  // namespace sluice::tests
