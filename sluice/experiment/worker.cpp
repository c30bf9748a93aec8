#include "sluice/experiment/worker.hpp"

#include <sys/prctl.h>

#include <bit>
#include <csignal>
#include <istream>
#include <ostream>

#include "sluice/experiment/machine_json.hpp"
#include "sluice/experiment/process_memory.hpp"
#include "sluice/experiment/workload_json.hpp"
#include "sluice/plan/plan_file.hpp"
#include "sluice/sim/locality.hpp"

namespace sluice {
namespace {

using nlohmann::json;

class WorkerServer {
 public:
  Result<json> answer(const json& request) {
    const std::string command = request.at("command");
    if (command == "setup") return set_up(request);
    if (command == "step") return run_step(request);
    if (command == "restart") return restart();
    if (command == "finish") return finish();
    return Error{ErrorCode::kBadInput, "unknown request '" + command + "'"};
  }

 private:
  Result<json> set_up(const json& request) {
    SLUICE_ASSIGN(const WorkloadOptions options, workload_from_json(request.at("workload")));
    SLUICE_ASSIGN(const Machine machine, machine_from_json(request.at("machine")));
    SLUICE_ASSIGN(const Plan plan, read_plan(request.at("plan").get<std::string>()));
    SLUICE_ASSIGN(workload_, build_workload(options));
    SLUICE_ASSIGN(session_,
                  Session::create(workload_, machine, plan, {.data = request.at("data"), .seed = request.at("seed")}));
    std::vector<std::string> notes = workload_.notes;
    const std::vector<std::string> more = session_->notes();
    notes.insert(notes.end(), more.begin(), more.end());
    return json{{"notes", notes}};
  }

  Result<json> run_step(const json& request) {
    SLUICE_CHECK(session_ != nullptr, "the worker was set up");
    SLUICE_ASSIGN(const StepOutcome outcome, session_->run_step(request.at("step"), request.at("learning_rate")));
    last_step_ = outcome.trace;
    return json{{"loss_bits", std::bit_cast<std::uint32_t>(outcome.loss)},
                {"step_seconds", outcome.trace.step_seconds},
                {"stall_seconds", outcome.trace.stall_seconds},
                {"link_bytes", outcome.trace.link_bytes}};
  }

  Result<json> restart() {
    SLUICE_CHECK(session_ != nullptr, "the worker was set up");
    SLUICE_RETURN_IF_ERROR(session_->give_initial_values());
    return json::object();
  }

  Result<json> finish() {
    SLUICE_CHECK(session_ != nullptr, "the worker was set up");
    SLUICE_ASSIGN(const std::string hash, session_->hash_parameters());
    const Bytes peak_rss_bytes = peak_resident_bytes();
    json locality;
    if (!last_step_.ops.empty()) {
      locality = locality_json(session_->locality(last_step_));
    }
    return json{{"parameter_hash", hash},
                {"peak_rss_bytes", peak_rss_bytes},
                {"locality", locality},
                {"policy_figures", session_->policy_figures()}};
  }

  Workload workload_;
  std::unique_ptr<Session> session_;
  StepTrace last_step_;
};

json failed(const Error& error) {
  return {{"ok", false}, {"code", static_cast<int>(error.code)}, {"message", error.message}};
}

}  // namespace

void serve_worker(std::istream& requests, std::ostream& answers) {
  std::signal(SIGINT, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  WorkerServer server;
  for (std::string line; std::getline(requests, line);) {
    json answer;
    try {
      Result<json> result = server.answer(json::parse(line));
      answer = result.ok() ? std::move(*result) : failed(result.error());
      if (result.ok()) answer["ok"] = true;
    } catch (const std::exception& failure) {
      answer = failed({ErrorCode::kBadInput, failure.what()});
    }
    answers << answer.dump() << std::endl;
  }
}

}  // namespace sluice
