// Expected failures as values.
//
// A function that can fail for a reason the user can do something about returns Result<T> (or Status when there is
// nothing to return). A broken invariant of our own is a SLUICE_CHECK (check.hpp) instead: it throws std::logic_error.
// Messages say what failed, where, what was asked for, what was available and what to do; programs read the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "sluice/base/check.hpp"

namespace sluice {

enum class ErrorCode {
  kBadInput,     // the user's argument, file or model is wrong
  kInfeasible,   // proved impossible within the budget given
  kNoneFound,    // nothing was found within the budget given, which proves nothing
  kOutOfTime,    // the time given was over before there was an answer
  kUnsupported,  // right, but this build or machine cannot do it
  kIo,           // a device or file failed
  kOutOfSpace,   // a tier or file system is full
  kMismatch,     // a plan, profile or checkpoint belongs to another graph or machine
  kInterrupted,  // the user asked to stop
};

std::string_view to_string(ErrorCode code);  // "bad-input"

// Whether it is about a budget that was too small, proved or not: a larger one may do, a smaller request too.
inline bool wants_more_room(ErrorCode code) { return code == ErrorCode::kInfeasible || code == ErrorCode::kNoneFound; }

struct Error {
  ErrorCode code = ErrorCode::kBadInput;
  std::string message;
  // Of an error about room, as far as they are known. Of a budget that is too small: the smallest that works, and it.
  std::optional<std::int64_t> requested_bytes = std::nullopt;
  std::optional<std::int64_t> available_bytes = std::nullopt;
};

inline Error bad_input(std::string message) { return {ErrorCode::kBadInput, std::move(message)}; }

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    SLUICE_CHECK(ok(), error().message);
    return std::get<0>(state_);
  }
  const T& value() const& {
    SLUICE_CHECK(ok(), error().message);
    return std::get<0>(state_);
  }
  T&& value() && {
    SLUICE_CHECK(ok(), error().message);
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace sluice

#define SLUICE_CONCAT_IMPL(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_IMPL(a, b)

// Returns the error of a Status or Result expression from the enclosing function.
#define SLUICE_RETURN_IF_ERROR(expression)                        \
  if (auto&& sluice_status = (expression); !sluice_status.ok()) { \
    return sluice_status.error();                                 \
  }                                                               \
  static_assert(true)

// Declares `declaration` from a Result, or returns its error: SLUICE_ASSIGN(Plan plan, read_plan(path));
#define SLUICE_ASSIGN(declaration, expression) \
  SLUICE_ASSIGN_IMPL(SLUICE_CONCAT(sluice_result_, __LINE__), declaration, expression)
#define SLUICE_ASSIGN_IMPL(result, declaration, expression) \
  auto result = (expression);                               \
  if (!result.ok()) return result.error();                  \
  declaration = std::move(result).value()
