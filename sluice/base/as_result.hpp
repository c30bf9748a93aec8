// An exception of what is called as an error, where a call may fail and what is around it goes on: the process got no more
// memory, a library gave up. A broken invariant of ours (std::logic_error, check.hpp) stays an exception.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "sluice/base/result.hpp"

namespace sluice {

template <typename Call>
std::invoke_result_t<Call> as_result(Call&& call) {
  try {
    return call();
  } catch (const std::logic_error&) {
    throw;
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfSpace, "the system gave no more memory"};
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kIo, failure.what()};
  }
}

}  // namespace sluice
