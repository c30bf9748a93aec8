// One planner's run in a process of its own, so that its resident size is its own: `sluice compare` starts one
// `sluice worker` for each planner and has them take steps in turn.
//
// Parent and worker speak JSON, one object a line: the parent writes to the worker's standard input, the worker answers
// each line with one line on its standard output.
//
//   {"command": "setup", "workload": {...}, "machine": {...}, "plan": "FILE", "seed": 1, "data": "synthetic"}
//     -> {"ok": true, "notes": [...]}          the workload as in workload_json.hpp
//   {"command": "step", "step": 3, "learning_rate": 0.1}
//     -> {"ok": true, "loss_bits": 1076211543, "step_seconds": 0.5, "stall_seconds": 0.01, "link_bytes": [1, 2],
//         "raw_link_bytes": [1, 2]}
//   {"command": "restart"}
//     -> {"ok": true}                          every parameter has its initial value again; a policy goes on
//   {"command": "finish"}
//     -> {"ok": true, "parameter_hash": "...", "peak_rss_bytes": 1, "locality": {...},
//         "breakdown": {...}, "policy_figures": [{"name": "passes", "value": 8.0}, ...]}
//                                              the locality of the last step, as sim/locality.hpp has it, null before
//                                              any; where its time went (sim/time_breakdown.hpp), null under a policy too; Policy::figures() of
//                                              all steps, empty under a plan
//   anything that fails
//     -> {"ok": false, "code": 3, "message": "..."}
//
// A worker runs as `sluice train` does, with the same settings of OpenMP: only one at a time is awake. The parent stops
// a worker (SIGSTOP) as soon as it has answered and wakes it (SIGCONT) for its next request, so that threads that spin
// after their last work take no processor from whoever is next. A step is a barrier: no transfer is under way then.
//
// The worker ends when its input does, and the kernel kills it when its parent dies, stopped or not: none outlives its
// parent. It leaves Ctrl-C to the parent.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/memory/machine.hpp"
#include "sluice/sim/time_breakdown.hpp"
#include "sluice/train/session.hpp"

namespace sluice::experiment {

// The worker's side: answers requests until the input ends.
void serve_worker(std::istream& requests, std::ostream& answers);

struct WorkerSetup {
  train::WorkloadOptions workload;
  train::SessionOptions session;
  memory::Machine machine;
  std::filesystem::path plan;
};

struct WorkerStep {
  std::uint32_t loss_bits = 0;  // of the fp32 loss: compared bit for bit, NaN included
  Seconds step_seconds = 0;
  Seconds stall_seconds = 0;
  std::vector<Bytes> link_bytes;      // by LinkId
  std::vector<Bytes> raw_link_bytes;  // the same if all moved as it is
};

struct WorkerSummary {
  std::string parameter_hash;
  Bytes peak_rss_bytes = 0;
  nlohmann::json locality;                                     // locality_json() of the last step; null before any
  std::optional<sim::TimeBreakdown> breakdown;                 // of the last step; nothing under a policy
  std::vector<std::pair<std::string, double>> policy_figures;  // empty under a plan
};

// The parent's side. Between calls the worker is stopped. A worker that has died is an error of the next call, which
// says how it ended.
class WorkerProcess {
 public:
  // `program` is run with the argument "worker".
  static Result<std::unique_ptr<WorkerProcess>> start(const std::filesystem::path& program, const WorkerSetup& setup);
  ~WorkerProcess();  // lets the worker end, and kills it when it has not ended within ten seconds
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  Result<WorkerStep> run_step(std::int64_t step, double learning_rate);
  Status restart();
  Result<WorkerSummary> finish();
  const std::vector<std::string>& notes() const { return notes_; }
  pid_t process() const { return process_; }  // -1: it has died

 private:
  WorkerProcess() = default;
  Status spawn(const std::filesystem::path& program);
  Result<nlohmann::json> ask(const nlohmann::json& request);
  bool send(const std::string& line) const;
  void stop() const;
  void wake() const;
  bool ends_within(int milliseconds) const;
  Error worker_lost();

  pid_t process_ = -1;
  int requests_ = -1;
  std::FILE* answers_ = nullptr;
  std::vector<std::string> notes_;
};

}  // namespace sluice::experiment
