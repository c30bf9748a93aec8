#include "python/core/store_binding.hpp"

#include <pybind11/stl.h>

#include <memory>

#include "python/core/own_process.hpp"
#include "python/core/raise_error.hpp"
#include "sluice/offload/saved_store.hpp"

namespace sluice::python {
namespace {

namespace py = pybind11;

// Addresses come from Python as numbers: what torch calls data_ptr().
std::byte* address(std::uintptr_t number) { return reinterpret_cast<std::byte*>(number); }

std::shared_ptr<offload::SavedStore> open_store(const std::string& path, Bytes file_bytes) {
  return of_this_process(value_or_raise(offload::SavedStore::open({path, file_bytes})));
}

}  // namespace

void bind_saved_store(py::module_& module) {
  using Store = offload::SavedStore;
  using Id = offload::SavedStore::Id;
  const py::call_guard<py::gil_scoped_release> others_run;
  py::class_<Store, std::shared_ptr<Store>>(
      module, "SavedStore", "Keeps bytes in a file for a while; they leave and come back in the background.")
      .def(py::init(&open_store), py::arg("path"), py::arg("file_bytes"))
      .def(
          "leave", [](Store& store, std::uintptr_t from, Bytes bytes) { return store.leave(address(from), bytes); },
          py::arg("address"), py::arg("bytes"),
          "Begin to move away, from whole pages. Returns an id, or None where the file is full.")
      .def("left", &Store::left, py::arg("id"), "Whether the memory they were in may be freed.")
      .def(
          "wait_left", [](Store& store, Id id) { raise_unless_ok(store.wait_left(id)); }, py::arg("id"), others_run)
      .def(
          "bring", [](Store& store, Id id, std::uintptr_t into) { store.bring(id, address(into)); }, py::arg("id"),
          py::arg("address"), "Begin to bring them back, into whole pages of the caller's.")
      .def("here", &Store::here, py::arg("id"))
      .def(
          "wait_here", [](Store& store, Id id) { raise_unless_ok(store.wait_here(id)); }, py::arg("id"), others_run)
      .def("forget", &Store::forget, py::arg("id"), others_run)
      .def("empty", &Store::empty, "Whether all are forgotten.")
      .def_property_readonly("notes", &Store::notes);
}

}  // namespace sluice::python
