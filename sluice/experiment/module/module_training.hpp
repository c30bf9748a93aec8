// A PyTorch module, exported as an ONNX file, trained by Sluice's kernels under a plan.
//
// Initial values come from the file, so that the module's own need not be in memory when training begins; batches come
// from the caller's. Values are known by the names of the file's initializers, which are those of the module's parameters
// and buffers; how they lie in the graph (transposed, joined, sliced) is undone here. A batch of another size has a graph
// and a plan of its own, over the same memory. Callers take turns.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sluice/onnx/given_weights.hpp"
#include "sluice/train/session.hpp"

namespace sluice::experiment {

struct ModuleTrainingOptions {
  std::filesystem::path onnx;
  std::map<std::string, int> trained;  // initializers that are the graph's parameters, where the loss reads them
  std::vector<graph::ParameterSettings> groups;  // of these, by their number
  bool own_loss = false;                         // the file's first output is the loss; else the cross-entropy of it is
  graph::OptimizerOptions optimizer;             // but for the above
  int threads = 1;                               // of the main processor
  std::int64_t samples = 1;                      // of the first batches
  std::string planner;                           // with `fast`
  std::optional<MemorySize> fast;                // nothing: all that the step takes
  std::string folder;                            // for what does not fit; empty: that is computed again
  std::uint64_t seed = 1;                        // of dropout
};

class ModuleTraining {
 public:
  // Captured and planned; values are those of the file. Errors: those of the importer and of planning.
  static Result<std::unique_ptr<ModuleTraining>> create(const ModuleTrainingOptions& options);
  ~ModuleTraining();

  // Before the first step. Errors: those of a session.
  Status begin();

  // What a step takes, in this order: row-major fp32 or i32 by their contents, as step() wants them.
  std::vector<data::InputTensor> inputs() const;
  // From the next step on, batches have `samples`.
  Status change_batch(std::int64_t samples);
  Result<train::StepOutcome> step(std::span<const std::span<const std::byte>> batch, double learning_rate);

  // Initializers that steps change, ascending.
  std::vector<std::string> changing() const;
  // Its value, or with `state` ("momentum", "moment1", "moment2") what the optimizer keeps of it.
  Status read(const std::string& initializer, const std::string& state, std::span<float> values);
  Status write(const std::string& initializer, const std::string& state, std::span<const float> values);

  // So many were run, and Adam counts from there.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

  const std::vector<std::string>& notes() const { return notes_; }
  Bytes fast_bytes() const;  // the plan's budget

 private:
  struct Prepared;
  class GivenBatch;

  explicit ModuleTraining(const ModuleTrainingOptions& options);
  Status prepare(std::int64_t samples);
  Status keep_partial(const onnx::Initializers& initializers);
  Result<onnx::InitializerValues> current(const std::string& initializer, const std::string& state);
  std::vector<std::string> parameters_of(const std::string& initializer) const;
  Status start(Prepared& prepared);
  Status check_running() const;

  ModuleTrainingOptions options_;
  std::shared_ptr<const onnx::Initializers> initial_;  // until training begins
  std::map<std::string, onnx::Weights> sources_;       // by parameter of the graph
  onnx::InitializerValues kept_;                       // as far as the graph has parts of them
  std::map<std::int64_t, std::unique_ptr<Prepared>> by_samples_;
  std::unique_ptr<GivenBatch> batch_;
  std::shared_ptr<train::RunState> run_;
  std::unique_ptr<train::Session> session_;
  std::int64_t samples_ = 0, steps_ = 0;
  std::mutex turn_;
  std::vector<std::string> notes_;
};

}  // namespace sluice::experiment
