// Errors as Python's: sluice.SluiceError, with the kind and the bytes that the text has as words.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <utility>

#include "sluice/base/result.hpp"

namespace sluice::python {

// May be called without the interpreter's lock.
[[noreturn]] inline void raise_error(const Error& error) {
  namespace py = pybind11;
  const py::gil_scoped_acquire locked;
  const py::object type = py::module_::import("sluice.errors").attr("SluiceError");
  const py::object raised =
      type(error.message, std::string(to_string(error.code)), error.requested_bytes, error.available_bytes);
  PyErr_SetObject(type.ptr(), raised.ptr());
  throw py::error_already_set();
}

inline void raise_unless_ok(const Status& status) {
  if (!status.ok()) raise_error(status.error());
}

template <typename T>
T value_or_raise(Result<T> result) {
  if (!result.ok()) raise_error(result.error());
  return std::move(result).value();
}

}  // namespace sluice::python
