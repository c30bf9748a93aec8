// ONNX' own tests of nodes, from Debian's libonnx-testdata: every test whose ops are all supported must pass.
//
//   SLUICE_ONNX_TESTDATA=/usr/share/libonnx-testdata/data  SLUICE_NODE_TABLE=table.txt  sluice_onnx_node_test
//
// The table has a line for each test: what became of it, and why not where it did not run.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "sluice/kernels/backends/backends.hpp"
#include "sluice/onnx/forward_model.hpp"
#include "tests/onnx/node_case.hpp"
#include "tests/onnx/node_exceptions.hpp"

namespace sluice::tests {
namespace {

constexpr double kSupportedShare = 0.85;
constexpr int kPyTorchTests = 90;

// "a", "b" of the ops that hold.
template <typename Holds>
std::string listed(const std::set<std::string>& ops, const Holds& holds) {
  std::string text;
  for (const std::string& op : ops) {
    if (holds(op)) text += (text.empty() ? "" : " ") + op;
  }
  return text;
}

struct Counts {
  int passed = 0, failed = 0, excepted = 0, unsupported = 0, not_for_training = 0;
};

// The line of one test; counts it.
std::string judge(const std::filesystem::path& folder, kernels::Backend& backend, const ScratchFolder& scratch,
                  Counts& counts) {
  const std::string name = folder.filename().string();
  const std::set<std::string> ops = ops_of_node_case(folder);
  const auto& excluded = ops_not_for_training();
  const std::string foreign = listed(ops, [&](const std::string& op) { return excluded.contains(op); });
  if (!foreign.empty()) {
    ++counts.not_for_training;
    return fmt::format("not for training  {}: {}", name, foreign);
  }
  const std::string unknown = listed(ops, [](const std::string& op) { return !onnx::supports_onnx_op(op); });
  if (!unknown.empty()) {
    ++counts.unsupported;
    return fmt::format("not supported     {}: {}", name, unknown);
  }
  const NodeVerdict verdict = run_node_case(folder, backend, scratch.path());
  if (const std::optional<std::string> why = node_test_exception(name)) {
    ++counts.excepted;
    EXPECT_FALSE(verdict.passes()) << name << " passes; it is no exception any more";
    return fmt::format("exception         {}: {}", name, *why);
  }
  if (!verdict.passes() && expects_its_own_rounding(name)) {
    ++counts.excepted;
    return fmt::format("exception         {}: expects its own rounding: {}", name, verdict.differs);
  }
  ++(verdict.passes() ? counts.passed : counts.failed);
  EXPECT_TRUE(verdict.passes()) << name << ": " << verdict.refused << verdict.differs;
  if (verdict.passes()) return fmt::format("passes            {}: {} runs", name, verdict.runs);
  return fmt::format("fails             {}: {}{}", name, verdict.refused, verdict.differs);
}

// The ops of ONNX that a trained network can contain.
std::set<std::string> ops_of_trained_networks() {
  std::set<std::string> ops;
  for (const ::onnx::OpSchema& schema : ::onnx::OpSchemaRegistry::get_all_schemas()) {
    if (schema.domain().empty()) ops.insert(schema.Name());
  }
  for (const auto& [op, opset] : later_ops()) ops.insert(op);
  for (const auto& [op, why] : ops_not_for_training()) ops.erase(op);
  return ops;
}

TEST(OnnxNodes, OfSupportedOpsGiveWhatTheyShould) {
  const std::filesystem::path data = onnx_test_data();
  if (!std::filesystem::is_directory(data)) GTEST_SKIP() << "needs Debian's libonnx-testdata, at " << data;
  const char* const table = std::getenv("SLUICE_NODE_TABLE");
  std::ofstream file(table == nullptr ? "/dev/null" : table);
  const auto backend = kernels::make_onednn_backend();
  const ScratchFolder scratch;
  Counts counts;
  for (const auto& folder : folders_in(data)) file << judge(folder, *backend, scratch, counts) << std::endl;
  const std::string summary =
      fmt::format("{} pass, {} fail, {} exceptions, {} of ops that are not supported, {} not for training",
                  counts.passed, counts.failed, counts.excepted, counts.unsupported, counts.not_for_training);
  std::cout << summary << "\n";
  file << summary << "\n";
  EXPECT_GT(counts.passed, 0);
}

// Whole layers that PyTorch wrote long ago, by opset 6: some use attributes that opset 7 took away. What is read is right.
TEST(OnnxNodes, OfPyTorchGiveWhatTheyShould) {
  const auto backend = kernels::make_onednn_backend();
  const ScratchFolder scratch;
  int passed = 0;
  for (const char* kind : {"pytorch-converted", "pytorch-operator"}) {
    if (!std::filesystem::is_directory(onnx_test_data(kind))) GTEST_SKIP() << "needs Debian's libonnx-testdata";
    for (const auto& folder : folders_in(onnx_test_data(kind))) {
      const NodeVerdict verdict = run_node_case(folder, *backend, scratch.path());
      EXPECT_EQ(verdict.differs, "") << folder.filename();
      if (!verdict.refused.empty()) std::cout << folder.filename() << " is not read: " << verdict.refused << "\n";
      if (verdict.passes()) ++passed;
    }
  }
  std::cout << passed << " pass\n";
  EXPECT_GE(passed, kPyTorchTests);
}

TEST(OnnxNodes, OfTrainedNetworksAreMostlySupported) {
  const std::set<std::string> ops = ops_of_trained_networks();
  const std::string missing = listed(ops, [](const std::string& op) { return !onnx::supports_onnx_op(op); });
  const auto supported = std::ranges::count_if(ops, onnx::supports_onnx_op);
  std::cout << fmt::format("{} of {} ops are supported; missing: {}\n", supported, ops.size(), missing);
  EXPECT_GE(static_cast<double>(supported), kSupportedShare * static_cast<double>(ops.size()));
}

}  // namespace
}  // namespace sluice::tests
