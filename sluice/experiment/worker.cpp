#include "sluice/experiment/worker.hpp"

#include <sys/prctl.h>

#include <bit>
#include <csignal>
#include <istream>
#include <ostream>

#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/memory/machine_json.hpp"
#include "sluice/memory/process_memory.hpp"
#include "sluice/policies/run_file.hpp"
#include "sluice/sim/locality.hpp"
#include "sluice/train/workload/workload_json.hpp"

namespace sluice::experiment {
namespace {

using nlohmann::json;

class WorkerServer {
 public:
  Result<json> answer(const JsonReader& request) {
    std::string command;
    SLUICE_RETURN_IF_ERROR(request.read("command", command));
    if (command == "setup") return set_up(request);
    if (command == "step") return run_step(request);
    if (command == "restart") return restart();
    if (command == "finish") return finish();
    return Error{ErrorCode::kBadInput, "unknown request '" + command + "'"};
  }

 private:
  Result<json> set_up(const JsonReader& request) {
    train::WorkloadOptions options;
    memory::Machine machine;
    std::string plan_file;
    train::SessionOptions session;
    SLUICE_RETURN_IF_ERROR(request.read("workload", options));
    SLUICE_RETURN_IF_ERROR(request.read("machine", machine));
    SLUICE_RETURN_IF_ERROR(request.read("plan", plan_file));
    SLUICE_RETURN_IF_ERROR(request.read("data", session.data));
    SLUICE_RETURN_IF_ERROR(request.read("seed", session.seed));
    SLUICE_ASSIGN(const policies::Run run, policies::read_run(plan_file));
    SLUICE_ASSIGN(workload_, train::build_workload(options));
    SLUICE_ASSIGN(session_, train::Session::create(workload_, machine, run, session));
    std::vector<std::string> notes = workload_.notes;
    const std::vector<std::string> more = session_->notes();
    notes.insert(notes.end(), more.begin(), more.end());
    return json{{"notes", notes}};
  }

  Result<json> run_step(const JsonReader& request) {
    SLUICE_RETURN_IF_ERROR(check_set_up());
    std::int64_t step = 0;
    double learning_rate = 0;
    SLUICE_RETURN_IF_ERROR(request.read("step", step));
    SLUICE_RETURN_IF_ERROR(request.read("learning_rate", learning_rate));
    SLUICE_ASSIGN(const train::StepOutcome outcome, session_->run_step(step, learning_rate));
    last_step_ = outcome.trace;
    return json{{"loss_bits", std::bit_cast<std::uint32_t>(outcome.loss)},
                {"step_seconds", outcome.trace.step_seconds},
                {"stall_seconds", outcome.trace.stall_seconds},
                {"link_bytes", outcome.trace.link_bytes},
                {"raw_link_bytes", outcome.trace.raw_link_bytes}};
  }

  Result<json> restart() {
    SLUICE_RETURN_IF_ERROR(check_set_up());
    SLUICE_RETURN_IF_ERROR(session_->give_initial_values());
    return json::object();
  }

  Result<json> finish() {
    SLUICE_RETURN_IF_ERROR(check_set_up());
    SLUICE_ASSIGN(const std::string hash, session_->hash_parameters());
    const Bytes peak_rss_bytes = memory::peak_resident_bytes();
    json locality, breakdown;
    if (!last_step_.ops.empty()) {
      locality = sim::locality_json(session_->locality(last_step_));
      if (const auto parts = session_->breakdown(last_step_)) breakdown = sim::breakdown_json(*parts);
    }
    json figures = json::array();
    for (const auto& [name, value] : session_->policy_figures()) figures.push_back({{"name", name}, {"value", value}});
    return json{{"parameter_hash", hash},
                {"peak_rss_bytes", peak_rss_bytes},
                {"locality", locality},
                {"breakdown", breakdown},
                {"policy_figures", figures}};
  }

  Status check_set_up() const {
    if (session_ != nullptr) return {};
    return Error{ErrorCode::kBadInput, "the worker was not set up: a request \"setup\" comes first"};
  }

  train::Workload workload_;
  std::unique_ptr<train::Session> session_;
  program::StepTimes last_step_;
};

json failed(const Error& error) {
  return {{"ok", false}, {"code", static_cast<int>(error.code)}, {"message", error.message}};
}

// Whatever goes wrong is told to whoever asked; the worker goes on.
json answer_line(WorkerServer& server, const std::string& line) {
  const Result<json> request = parse_json(line);
  if (!request.ok()) return failed(request.error());
  try {
    Result<json> answer = server.answer(JsonReader(*request));
    if (!answer.ok()) return failed(answer.error());
    (*answer)["ok"] = true;
    return *std::move(answer);
  } catch (const std::exception& broken) {
    return failed({ErrorCode::kBadInput, broken.what()});
  }
}

}  // namespace

void serve_worker(std::istream& requests, std::ostream& answers) {
  std::signal(SIGINT, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  WorkerServer server;
  for (std::string line; std::getline(requests, line);) {
    const json answer = answer_line(server, line);
    answers << answer.dump() << std::endl;
  }
}

}  // namespace sluice::experiment
