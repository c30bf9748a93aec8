#include "sluice/report/json_document.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "sluice/base/as_index.hpp"
#include "sluice/base/format_version.hpp"
#include "sluice/report/run_record.hpp"

namespace sluice::report {
namespace {

int& document_output() {
  static int descriptor = STDOUT_FILENO;
  return descriptor;
}

bool& output_has_document() {
  static bool written = false;
  return written;
}

Error cannot_write() {
  return {errno == ENOSPC ? ErrorCode::kOutOfSpace : ErrorCode::kIo,
          fmt::format("cannot write the JSON document to standard output: {}", std::strerror(errno))};
}

Status write_to_output(std::string_view text) {
  output_has_document() = true;
  std::fflush(stdout);
  while (!text.empty()) {
    const ssize_t written = ::write(document_output(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return cannot_write();
    text.remove_prefix(as_index(written));
  }
  return {};
}

}  // namespace

nlohmann::json stamped_document(std::string_view command, nlohmann::json document) {
  document["format"] = kDocumentFormat;
  document["version"] = kDocumentVersion;
  document["command"] = command;
  return document;
}

Status write_document(const std::string& path, std::string_view command, nlohmann::json document) {
  if (path.empty()) return {};
  document = stamped_document(command, std::move(document));
  return path == kStandardOutput
             ? write_to_output(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n")
             : write_json_file(path, document);
}

Status write_error_document(const std::string& path, std::string_view command, const nlohmann::json& error) {
  std::error_code unknown;
  const bool stays = path == kStandardOutput ? output_has_document() : std::filesystem::exists(path, unknown);
  return stays ? Status() : write_document(path, command, {{"error", error}});
}

Status keep_output_for_documents(bool silent) {
  std::fflush(stdout);
  const int kept = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (kept < 0) return cannot_write();
  document_output() = kept;
  const int instead = silent ? ::open("/dev/null", O_WRONLY | O_CLOEXEC) : STDERR_FILENO;
  if (instead < 0 || ::dup2(instead, STDOUT_FILENO) < 0) return cannot_write();
  if (instead != STDERR_FILENO) ::close(instead);
  return {};
}

}  // namespace sluice::report
