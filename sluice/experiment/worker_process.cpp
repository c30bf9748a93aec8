#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sluice/base/as_index.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/base/progress/terminal.hpp"
#include "sluice/experiment/worker.hpp"
#include "sluice/memory/machine_json.hpp"
#include "sluice/train/workload/workload_json.hpp"

namespace sluice::experiment {
namespace {

using nlohmann::json;

constexpr int kPatienceMilliseconds = 10'000;

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
  std::string name = "sluice";
  std::string command = "worker";
  std::string quiet = "--quiet";
  std::array<char*, 4> arguments{name.data(), command.data(), terminal().quiet ? quiet.data() : nullptr, nullptr};
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
  if (process_ > 0) {
    wake();  // a stopped process sees no end of its input
    if (!ends_within(kPatienceMilliseconds)) ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  if (answers_ != nullptr) std::fclose(answers_);
}

bool WorkerProcess::ends_within(int milliseconds) const {
  pollfd end{.fd = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)), .events = POLLIN, .revents = 0};
  if (end.fd < 0) return false;
  const bool ended = ::poll(&end, 1, milliseconds) == 1;
  ::close(end.fd);
  return ended;
}

// Returns when all its threads have been stopped, or the process has ended.
void WorkerProcess::stop() const {
  if (process_ <= 0 || ::kill(process_, SIGSTOP) != 0) return;
  siginfo_t state{};
  while (::waitid(P_PID, static_cast<id_t>(process_), &state, WSTOPPED | WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
}

void WorkerProcess::wake() const {
  if (process_ > 0) ::kill(process_, SIGCONT);
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

bool WorkerProcess::send(const std::string& line) const {
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t wrote = ::write(requests_, line.data() + sent, line.size() - sent);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    sent += as_index(wrote);
  }
  return true;
}

Result<json> WorkerProcess::ask(const json& request) {
  wake();
  if (!send(request.dump() + "\n")) return worker_lost();
  char* text = nullptr;
  std::size_t room = 0;
  const ssize_t length = ::getline(&text, &room, answers_);
  const Result<json> answer = parse_json({text, length > 0 ? as_index(length) : 0});
  std::free(text);
  if (length <= 0) return worker_lost();
  stop();
  if (!answer.ok()) return Error{ErrorCode::kIo, "the worker process gave an answer that is not JSON"};
  SLUICE_RETURN_IF_ERROR(what_failed(JsonReader(*answer)));
  return answer;
}

Result<WorkerStep> WorkerProcess::run_step(std::int64_t step, double learning_rate) {
  SLUICE_ASSIGN(const json answer, ask({{"command", "step"}, {"step", step}, {"learning_rate", learning_rate}}));
  const JsonReader reader(answer);
  WorkerStep done;
  SLUICE_RETURN_IF_ERROR(reader.read("loss_bits", done.loss_bits));
  SLUICE_RETURN_IF_ERROR(reader.read("step_seconds", done.step_seconds));
  SLUICE_RETURN_IF_ERROR(reader.read("stall_seconds", done.stall_seconds));
  SLUICE_RETURN_IF_ERROR(reader.read("link_bytes", done.link_bytes));
  SLUICE_RETURN_IF_ERROR(reader.read("raw_link_bytes", done.raw_link_bytes));
  return done;
}

Result<WorkerSummary> WorkerProcess::finish() {
  SLUICE_ASSIGN(const json answer, ask({{"command", "finish"}}));
  const JsonReader reader(answer);
  WorkerSummary summary;
  SLUICE_RETURN_IF_ERROR(reader.read("parameter_hash", summary.parameter_hash));
  SLUICE_RETURN_IF_ERROR(reader.read("peak_rss_bytes", summary.peak_rss_bytes));
  SLUICE_RETURN_IF_ERROR(reader.read("locality", summary.locality));
  if (answer.contains("breakdown") && !answer.at("breakdown").is_null()) {
    SLUICE_RETURN_IF_ERROR(reader.read("breakdown", summary.breakdown.emplace()));
  }
  SLUICE_ASSIGN(const std::vector<JsonReader> figures, reader.list("policy_figures"));
  for (const JsonReader& figure : figures) {
    std::pair<std::string, double> named;
    SLUICE_RETURN_IF_ERROR(figure.read("name", named.first));
    SLUICE_RETURN_IF_ERROR(figure.read("value", named.second));
    summary.policy_figures.push_back(std::move(named));
  }
  return summary;
}

Status WorkerProcess::restart() {
  const Result<json> answer = ask({{"command", "restart"}});
  return answer.ok() ? Status() : Status(answer.error());
}

}  // namespace sluice::experiment
