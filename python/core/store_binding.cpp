#include "python/core/store_binding.hpp"

#include <pybind11/stl.h>

#include <memory>

#include "sluice/offload/page_arena.hpp"
#include "sluice/offload/saved_store.hpp"

namespace sluice {
namespace {

namespace py = pybind11;

// Addresses come from Python as numbers: what torch calls data_ptr().
std::byte* address(std::uintptr_t number) { return reinterpret_cast<std::byte*>(number); }

template <typename Outcome>
void throw_if_error(const Outcome& outcome) {
  if (!outcome.ok()) throw std::runtime_error(outcome.error().message);
}

std::shared_ptr<SavedStore> open_store(const std::string& path, Bytes file_bytes) {
  auto store = SavedStore::open({path, file_bytes});
  throw_if_error(store);
  return std::move(store).value();
}

// Memory that tensors of another framework look at; free again when the last of them is gone.
class Pages {
 public:
  Pages(std::shared_ptr<PageArena> arena, std::byte* data, Bytes bytes)
      : arena_(std::move(arena)), data_(data), bytes_(bytes) {}
  ~Pages() { arena_->give(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  py::buffer_info buffer() const {
    return {data_, 1, py::format_descriptor<unsigned char>::format(), static_cast<py::ssize_t>(bytes_)};
  }

 private:
  std::shared_ptr<PageArena> arena_;
  std::byte* data_;
  Bytes bytes_;
};

std::shared_ptr<PageArena> map_arena(Bytes bytes) {
  auto arena = PageArena::map(bytes);
  throw_if_error(arena);
  return std::move(arena).value();
}

std::unique_ptr<Pages> take_pages(const std::shared_ptr<PageArena>& arena, Bytes bytes) {
  std::byte* const data = arena->take(bytes);
  return data == nullptr ? nullptr : std::make_unique<Pages>(arena, data, bytes);
}

}  // namespace

void bind_page_arena(py::module_& module) {
  py::class_<Pages>(module, "Pages", py::buffer_protocol(), "A writable buffer; its memory is free again with it.")
      .def_buffer([](const Pages& pages) { return pages.buffer(); });
  py::class_<PageArena, std::shared_ptr<PageArena>>(module, "PageArena", "Memory of a fixed size, in whole pages.")
      .def(py::init(&map_arena), py::arg("bytes"))
      .def("take", &take_pages, py::arg("bytes"), "Pages, or None where there is no room.");
}

void bind_saved_store(py::module_& module) {
  using Store = SavedStore;
  using Id = SavedStore::Id;
  const py::call_guard<py::gil_scoped_release> others_run;
  py::class_<Store, std::shared_ptr<Store>>(
      module, "SavedStore", "Keeps bytes in a file for a while; they leave and come back in the background.")
      .def(py::init(&open_store), py::arg("path"), py::arg("file_bytes"))
      .def(
          "leave", [](Store& store, std::uintptr_t from, Bytes bytes) { return store.leave(address(from), bytes); },
          py::arg("address"), py::arg("bytes"), "Begin to move away. Returns an id, or None where the file is full.")
      .def("left", &Store::left, py::arg("id"), "Whether the memory they were in may be freed.")
      .def(
          "wait_left", [](Store& store, Id id) { throw_if_error(store.wait_left(id)); }, py::arg("id"), others_run)
      .def(
          "bring", [](Store& store, Id id, std::uintptr_t into) { store.bring(id, address(into)); }, py::arg("id"),
          py::arg("address"), "Begin to bring them back, into whole pages of the caller's.")
      .def("here", &Store::here, py::arg("id"))
      .def(
          "wait_here", [](Store& store, Id id) { throw_if_error(store.wait_here(id)); }, py::arg("id"), others_run)
      .def("forget", &Store::forget, py::arg("id"), others_run)
      .def_property_readonly("notes", &Store::notes)
      .def_property_readonly_static("staging_bytes", [](const py::object&) { return Store::staging_bytes(); });
}

}  // namespace sluice
