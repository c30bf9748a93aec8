// The part of the Python package that is C++: sluice._core. Python's side of it is python/sluice.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "python/core/paged_binding.hpp"
#include "python/core/parking.hpp"
#include "python/core/store_binding.hpp"

PYBIND11_MODULE(_core, module) {
  module.doc() = "Sluice's engines, as the Python package uses them.";
  sluice::python::bind_saved_store(module);
  sluice::python::bind_parking(module);
  sluice::python::bind_paged_memory(module);
#ifdef SLUICE_BUILT_FOR_TORCH
  module.attr("built_for_torch") = SLUICE_BUILT_FOR_TORCH;
#else
  module.attr("built_for_torch") = "";
#endif
}
