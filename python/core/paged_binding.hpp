// PagedMemory (sluice/memory/paging) for Python: buffers of which tensors are made.
#pragma once

#include <pybind11/pybind11.h>

namespace sluice::python {

void bind_paged_memory(pybind11::module_& module);

}  // namespace sluice::python
