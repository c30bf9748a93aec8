// SavedStore (sluice/offload) for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace sluice::python {

void bind_saved_store(pybind11::module_& module);

}  // namespace sluice::python
