// Training whose graph changes between steps: with the size of the input, or with the path that control flow takes
// (Sentinel §IV-E; no padding, which costs memory and work).
//
// Each variant (variants.hpp) has its own graph, kernels and verified plan, made at the first step that needs them. The
// first size in a bucket is profiled; further sizes of the bucket get its profile scaled to their graphs
// (profile/scale_profile.hpp). A path of control flow has buckets of its own, so a new one is always profiled.
//
// Parameters live on by name. Variants take turns over one memory (run_state.hpp), so that one budget holds for all: a change
// of variant moves what lies elsewhere in the other plan, and takes by way of the disk what the other graph has in another
// form or not at all. While a variant is prepared that was not met before, all waits on disk. A step changes the parameters that its graph has and leaves the others, and their optimizer state, as they are.
// Adam counts all steps for all parameters.
//
// The budget is the same number of bytes for every variant. A percentage is of all that the reference takes. (With
// planner fast-only, or without a budget, each variant gets all that it takes.) The reference is planned at once, so
// take the largest variant: a budget that is too small then shows before the first step. Loss and parameters depend on
// (graphs, data, seed, learning rates) alone.
//
// One caller at a time. Errors name the variant. They are those of building, of profiling, of planning (with
// advice, planning_advice.hpp: they end the training) and of a session.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sluice/policies/run.hpp"
#include "sluice/train/planning/planning.hpp"
#include "sluice/train/session.hpp"
#include "sluice/train/variants/variants.hpp"

namespace sluice::train {

struct Variant {
  VariantKey key;
  int bucket = 0;
  VariantKey profiled;   // whose ops were measured: its own key, or that of its bucket's first
  int distinct_ops = 0;  // of different signature
  int measured_ops = 0;  // of these, measured for this variant; the others were known, or are estimates
  Workload workload;
  std::string fingerprint;  // of the workload's graph
  policies::Run run;
  const plan::Plan& plan() const { return policies::plan_of(run); }
  std::int64_t steps = 0;  // run so far

  bool estimated() const { return profiled != key; }
};

struct VariantSettings {
  // Which graph a step has. Must depend on the step alone (and so on its data), so that runs can be repeated.
  std::function<VariantKey(std::int64_t step)> key_of;
  std::string keys;  // what key_of chooses from, in words: a checkpoint is of these
  std::function<Result<Workload>(const VariantKey& key)> build;
  std::function<Result<profile::Profile>(Workload& workload)> profile;  // measure_profile() with the cache, say
  std::function<void(const Variant& variant)> on_planned;               // called for each new plan; may be empty
  SizeBuckets buckets;
  VariantKey reference;  // see the top of this file
  std::string planner{planners::kDefaultPlanner};
  FastBudget fast;
  SessionOptions session;
};

// What it took to have several graphs.
struct VariantCosts {
  std::int64_t profiles_measured = 0;
  std::int64_t profiles_estimated = 0;
  std::int64_t plans = 0;
  Seconds preparation_seconds = 0;  // building, profiling and planning
  std::int64_t switches = 0;        // from one variant to another
  Seconds switch_seconds = 0;       // without preparation
};

class VariantTraining : public Training {
 public:
  static Result<std::unique_ptr<VariantTraining>> create(memory::Machine machine, VariantSettings settings);

  Result<StepOutcome> run_step(std::int64_t step, double learning_rate) override;

  // On the reference's graph.
  Result<ValidationResult> validate(std::int64_t batches) override;

  // Of all persistent tensors of all variants so far. Those met later begin as in a run that was never stopped.
  Status save_checkpoint(const std::filesystem::path& path, std::int64_t next_step) override;
  std::optional<std::uintmax_t> checkpoint_bytes() const override;  // of the reference
  bool running() const override { return true; }  // a step starts its session itself, from what memory and disk hold
  // The step to run next. After an error the training is as it was.
  Result<std::int64_t> load_checkpoint(const std::filesystem::path& path);

  // Of all persistent tensors of all variants so far, by name (ParkedTensors::hash): equal for equal bits.
  Result<std::string> hash_parameters();

  const memory::Machine& machine() const { return machine_; }
  const std::map<VariantKey, Variant>& variants() const { return variants_; }
  const Variant& reference() const { return variants_.at(settings_.reference); }
  const VariantCosts& costs() const { return costs_; }
  std::vector<std::string> notes() const { return notes_; }

 private:
  struct BucketProfile {
    VariantKey from;
    profile::Profile profile;
  };

  VariantTraining(memory::Machine machine, VariantSettings settings);
  Status start_reference();
  Status prepare(const VariantKey& key);
  Status add_variant(const VariantKey& key, Workload workload);
  Result<profile::Profile> profile_for(Variant& variant);
  Status start_session(const VariantKey& key);
  CheckpointIdentity identity() const;
  Status end_session();  // if there is one
  Status park();         // all values are on disk too
  Status change_to(const VariantKey& key);

  memory::Machine machine_;
  VariantSettings settings_;
  std::map<VariantKey, Variant> variants_;
  std::map<std::pair<std::string, int>, BucketProfile> profiles_;  // by path and bucket
  std::shared_ptr<RunState> state_;
  VariantKey present_;                // of the session, or of the next step where there is none
  std::unique_ptr<Session> session_;  // none while another is being prepared, and after validation
  std::unique_ptr<Evaluator> evaluator_;
  VariantCosts costs_;
  std::vector<std::string> notes_;
};

}  // namespace sluice::train
