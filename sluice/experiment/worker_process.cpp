#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/experiment/machine_json.hpp"
#include "sluice/experiment/worker.hpp"
#include "sluice/experiment/workload_json.hpp"

namespace sluice {
namespace {

using nlohmann::json;

json setup_request(const WorkerSetup& setup) {
  return {{"command", "setup"},
          {"workload", workload_to_json(setup.workload)},
          {"machine", machine_to_json(setup.machine)},
          {"plan", setup.plan.string()},
          {"seed", setup.session.seed},
          {"data", setup.session.data}};
}

// The error that an answer tells of.
Status what_failed(const JsonReader& answer) {
  bool ok = false;
  int code = 0;
  std::string message;
  SLUICE_RETURN_IF_ERROR(answer.read("ok", ok));
  if (ok) return {};
  SLUICE_RETURN_IF_ERROR(answer.read("code", code));
  SLUICE_RETURN_IF_ERROR(answer.read("message", message));
  return Error{static_cast<ErrorCode>(code), message};
}

Error system_error(std::string_view what, int reason) {
  return {ErrorCode::kIo, fmt::format("{}: {}", what, std::strerror(reason))};
}

}  // namespace

Status WorkerProcess::spawn(const std::filesystem::path& program) {
  std::array<int, 2> request_pipe{};
  std::array<int, 2> answer_pipe{};
  if (::pipe2(request_pipe.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  requests_ = request_pipe[1];
  if (::pipe2(answer_pipe.data(), O_CLOEXEC) != 0) {
    ::close(request_pipe[0]);
    return system_error("cannot make a pipe", errno);
  }
  answers_ = ::fdopen(answer_pipe[0], "r");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, request_pipe[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answer_pipe[1], STDOUT_FILENO);
  // OpenMP threads spin for milliseconds after their last work, on cores that the next planner's step needs. This many
  // turns are a fraction of a millisecond: longer than the gaps within a step, too short to disturb another's.
  ::setenv("GOMP_SPINCOUNT", "10000", 0);
  std::string name = "sluice";
  std::string command = "worker";
  std::array<char*, 3> arguments{name.data(), command.data(), nullptr};
  const int failure = ::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(request_pipe[0]);
  ::close(answer_pipe[1]);
  if (failure != 0) {
    process_ = -1;
    return system_error(fmt::format("cannot start {}", program.string()), failure);
  }
  return {};
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::filesystem::path& program,
                                                            const WorkerSetup& setup) {
  std::signal(SIGPIPE, SIG_IGN);  // a lost worker is reported by ask()
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess());
  SLUICE_RETURN_IF_ERROR(worker->spawn(program));
  SLUICE_ASSIGN(const json answer, worker->ask(setup_request(setup)));
  SLUICE_RETURN_IF_ERROR(JsonReader(answer).read("notes", worker->notes_));
  return worker;
}

WorkerProcess::~WorkerProcess() {
  if (requests_ >= 0) ::close(requests_);
  if (answers_ != nullptr) std::fclose(answers_);
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

Error WorkerProcess::worker_lost() {
  int status = 0;
  const pid_t ended = process_ > 0 ? ::waitpid(process_, &status, 0) : -1;
  process_ = -1;
  const std::string how =
      ended > 0 && WIFSIGNALED(status)
          ? fmt::format("was killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)))
          : fmt::format("ended early with status {}", WEXITSTATUS(status));
  return {ErrorCode::kIo, fmt::format("the worker process {}; signal 9 usually means that memory ran out", how)};
}

Result<json> WorkerProcess::ask(const json& request) {
  const std::string line = request.dump() + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t wrote = ::write(requests_, line.data() + sent, line.size() - sent);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return worker_lost();
    sent += static_cast<std::size_t>(wrote);
  }
  char* text = nullptr;
  std::size_t room = 0;
  const ssize_t length = ::getline(&text, &room, answers_);
  const Result<json> answer = parse_json({text, length > 0 ? static_cast<std::size_t>(length) : 0});
  std::free(text);
  if (length <= 0) return worker_lost();
  if (!answer.ok()) return Error{ErrorCode::kIo, "the worker process gave an answer that is not JSON"};
  SLUICE_RETURN_IF_ERROR(what_failed(JsonReader(*answer)));
  return answer;
}

Result<WorkerStep> WorkerProcess::run_step(std::int64_t step, float learning_rate) {
  SLUICE_ASSIGN(const json answer, ask({{"command", "step"}, {"step", step}, {"learning_rate", learning_rate}}));
  const JsonReader reader(answer);
  WorkerStep done;
  SLUICE_RETURN_IF_ERROR(reader.read("loss_bits", done.loss_bits));
  SLUICE_RETURN_IF_ERROR(reader.read("step_seconds", done.step_seconds));
  SLUICE_RETURN_IF_ERROR(reader.read("stall_seconds", done.stall_seconds));
  SLUICE_RETURN_IF_ERROR(reader.read("link_bytes", done.link_bytes));
  return done;
}

Result<WorkerSummary> WorkerProcess::finish() {
  SLUICE_ASSIGN(const json answer, ask({{"command", "finish"}}));
  const JsonReader reader(answer);
  WorkerSummary summary;
  SLUICE_RETURN_IF_ERROR(reader.read("parameter_hash", summary.parameter_hash));
  SLUICE_RETURN_IF_ERROR(reader.read("peak_rss_bytes", summary.peak_rss_bytes));
  SLUICE_RETURN_IF_ERROR(reader.read("locality", summary.locality));
  return summary;
}

}  // namespace sluice
