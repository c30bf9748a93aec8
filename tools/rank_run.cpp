#include "tools/rank_run.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "sluice/base/hash.hpp"
#include "sluice/profile/network_times.hpp"

namespace sluice::cli {
namespace {

Status check_options(const TrainArguments& arguments) {
  for (const auto& [option, asked] :
       {std::pair("--sequences", !arguments.sequences.empty()), std::pair("--plan", !arguments.plan.empty()),
        std::pair("--export-onnx", !arguments.export_onnx.empty()), std::pair("--gpu", arguments.machine.gpu),
        std::pair("--trials", arguments.trials.value_or(0) > 0)}) {
    if (asked) return bad_input(fmt::format("{} does not go with several ranks yet; leave it out", option));
  }
  return {};
}

// Of all that ranks must agree on to make the same calls and train the same parameters.
std::string fingerprint_of_work(const TrainArguments& arguments, const train::Workload& workload) {
  Hasher hasher;
  hasher.add(fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", workload.graph().fingerprint(),
                         arguments.session.seed, arguments.session.data, arguments.learning_rate.value_or(0),
                         arguments.schedule, arguments.steps, arguments.checkpoint, arguments.checkpoint_every,
                         arguments.resume.empty(), arguments.validate_every.value_or(-1), arguments.validation_batches,
                         arguments.no_validation, train::describe_settings(workload.options)));
  return hasher.hex();
}

// What is printed and written is the first rank's. All write checkpoints together.
void be_silent(TrainArguments& arguments) {
  for (std::string* file : {&arguments.json, &arguments.losses, &arguments.trace, &arguments.save_plan}) file->clear();
  if (std::freopen("/dev/null", "w", stdout) == nullptr) std::fclose(stdout);
}

}  // namespace

Status settle_ranks(kernels::Ranks* ranks, TrainArguments& arguments) {
  int& asked = arguments.workload.update.ranks;
  const int started = ranks == nullptr ? 1 : ranks->count();
  if (asked != 1 && asked != started) {
    return bad_input(fmt::format("--ranks {}: {} process{} started together; run mpirun -n {} sluice train ...", asked,
                                 started, started == 1 ? " was" : "es were", asked));
  }
  asked = started;
  if (ranks == nullptr) return {};
  SLUICE_RETURN_IF_ERROR(check_options(arguments));
  arguments.trials = 0;
  arguments.no_replan = true;  // plans must be the same
  arguments.session.ranks = ranks;
  if (ranks->rank() != 0) be_silent(arguments);
  return {};
}

Status check_same_work(kernels::Ranks& ranks, const TrainArguments& arguments, const train::Workload& workload) {
  const std::string own = fingerprint_of_work(arguments, workload);
  std::string first = own;
  SLUICE_RETURN_IF_ERROR(ranks.share(std::as_writable_bytes(std::span(first))));
  if (first == own) return {};
  return Error{ErrorCode::kMismatch,
               fmt::format("rank {} was started with other settings than rank 0: all take the same model, batch, "
                           "optimizer, learning rate, data, seed, threads, steps, checkpoints and validations",
                           ranks.rank())};
}

std::string describe_ranks(const kernels::Ranks& ranks, const graph::Graph& graph) {
  return fmt::format("mean of {}, each sends {} a step", ranks.count(), format_bytes(profile::bytes_to_ranks(graph)));
}

}  // namespace sluice::cli
