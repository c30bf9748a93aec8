// Evaluation: how well a model does on data that it was not trained on, inside the same fast-memory budget.
//
// The evaluation graph (graph/rewrite/prepare.hpp) has the forward ops alone, as they run on a trained model; its
// parameters are the training graph's by name. It is planned for the training plan's budgets: everything in fast memory
// where it fits, else by the training's planner or on-demand. Op times are estimated from bytes, not measured: they
// only order transfers.
//
// Each image is counted exactly once. Text is counted in whole batches of windows. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sluice/data/batch_source.hpp"
#include "sluice/exec/executor.hpp"
#include "sluice/plan/plan.hpp"
#include "sluice/train/run_state.hpp"
#include "sluice/train/workload/workload.hpp"

namespace sluice::train {

struct ValidationResult {
  std::int64_t batches = 0;
  std::int64_t predictions = 0;  // images, their pixels, or tokens that were to be guessed
  std::int64_t per_image = 1;
  double loss = 0;                 // mean over predictions
  std::optional<double> accuracy;  // of images and pixels: share whose most probable class is right

  double perplexity() const;
};

// "accuracy 41.25 %, loss 1.6213 over 10000 images", "perplexity 12.30, loss 2.5096 over 4096 tokens"
std::string describe(const ValidationResult& result);

class Evaluator {
 public:
  // Opens the validation split of `data` and compiles the evaluation graph. kBadInput when there is no such split or
  // nothing to measure (the model has no classes to predict).
  static Result<std::unique_ptr<Evaluator>> create(const Workload& workload, const std::string& data,
                                                   std::uint64_t seed);

  // Runs the first `batches` batches of the split (0: all), with an executor of its own, which is gone afterwards. The
  // training's is gone before, and the memory is the evaluation's until a program of the training takes it over. After a
  // batch that failed, `state` has all parameters as before: no op of an evaluation writes one.
  Result<ValidationResult> run(const memory::Machine& machine, const plan::Plan& training, RunState& state,
                               std::int64_t batches);

  std::int64_t batch_count() const;  // of the whole split

 private:
  struct Head;
  Evaluator() = default;
  Result<plan::Plan> plan(const memory::Machine& machine, const plan::Plan& training) const;
  Result<ValidationResult> run_batches(exec::Executor& executor, std::int64_t batches);
  Status add_batch(exec::Executor& executor, std::int64_t batch, std::span<const std::int32_t> labels,
                   ValidationResult& result);
  Status add_images(exec::Executor& executor, std::int64_t batch, std::span<const std::int32_t> labels,
                    ValidationResult& result);

  struct Started {
    std::unique_ptr<exec::Executor> executor;
    bool moves_parameters = false;  // some are nowhere in particular amid a step
  };
  Result<Started> start(const memory::Machine& machine, const plan::Plan& training, RunState& state) const;

  std::shared_ptr<kernels::CompiledGraph> compiled_;
  std::unique_ptr<data::BatchSource> source_;
  std::shared_ptr<const Head> head_;
  std::uint64_t seed_ = 0;
};

}  // namespace sluice::train
