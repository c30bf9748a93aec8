#include "python/core/store_binding.hpp"

#include <pybind11/stl.h>

#include <memory>

#include "sluice/offload/saved_store.hpp"

namespace sluice {
namespace {

namespace py = pybind11;

// Addresses come from Python as numbers: what torch calls data_ptr().
const std::byte* address(std::uintptr_t number) { return reinterpret_cast<const std::byte*>(number); }

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

// Memory that a tensor of another framework looks at; free again when the last one is gone.
class Brought {
 public:
  Brought(std::shared_ptr<SavedStore> store, SavedStore::Id id, std::byte* data, Bytes bytes)
      : store_(std::move(store)), id_(id), data_(data), bytes_(bytes) {}
  ~Brought() { store_->forget(id_); }
  Brought(const Brought&) = delete;
  Brought& operator=(const Brought&) = delete;

  py::buffer_info buffer() const {
    return {data_, 1, py::format_descriptor<unsigned char>::format(), static_cast<py::ssize_t>(bytes_)};
  }

 private:
  std::shared_ptr<SavedStore> store_;
  SavedStore::Id id_;
  std::byte* data_;
  Bytes bytes_;
};

std::shared_ptr<SavedStore> open_store(const std::string& path, Bytes file_bytes, Bytes arena_bytes) {
  return value_or_throw(SavedStore::open({path, file_bytes, arena_bytes}));
}

std::unique_ptr<Brought> take(const std::shared_ptr<SavedStore>& store, SavedStore::Id id, Bytes bytes) {
  std::byte* data = nullptr;
  {
    const py::gil_scoped_release others_run;
    data = value_or_throw(store->take(id));
  }
  return std::make_unique<Brought>(store, id, data, bytes);
}

void wait_left(SavedStore& store, SavedStore::Id id) {
  const py::gil_scoped_release others_run;
  const Status status = store.wait_left(id);
  if (!status.ok()) throw std::runtime_error(status.error().message);
}

void read_into(SavedStore& store, SavedStore::Id id, const py::buffer& into) {
  const py::buffer_info info = into.request(/*writable=*/true);
  const py::gil_scoped_release others_run;
  const std::span<std::byte> bytes(static_cast<std::byte*>(info.ptr),
                                   static_cast<std::size_t>(info.size * info.itemsize));
  const Status status = store.read(id, bytes);
  if (!status.ok()) throw std::runtime_error(status.error().message);
}

}  // namespace

void bind_saved_store(py::module_& module) {
  py::class_<Brought>(module, "Brought", py::buffer_protocol(), "Bytes that are back, as a writable buffer.")
      .def_buffer([](const Brought& brought) { return brought.buffer(); });
  py::class_<SavedStore, std::shared_ptr<SavedStore>>(
      module, "SavedStore", "Keeps bytes in a file for a while; they leave and come back in the background.")
      .def(py::init(&open_store), py::arg("path"), py::arg("file_bytes"), py::arg("arena_bytes"))
      .def(
          "leave",
          [](SavedStore& store, std::uintptr_t from, Bytes bytes) { return store.leave(address(from), bytes); },
          py::arg("address"), py::arg("bytes"),
          "Begin to move bytes away. Returns their id, or None where the file is full.")
      .def("left", &SavedStore::left, py::arg("id"), "Whether the memory they were in may be freed.")
      .def("wait_left", &wait_left, py::arg("id"))
      .def("bring", &SavedStore::bring, py::arg("id"), "Begin to bring them back. False where there is no room.")
      .def("here", &SavedStore::here, py::arg("id"))
      .def("take", &take, py::arg("id"), py::arg("bytes"),
           "Wait until they are back; the store forgets them with the buffer.")
      .def("read", &read_into, py::arg("id"), py::arg("into"), "Read them into a writable buffer.")
      .def("forget", &SavedStore::forget, py::arg("id"), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("staging_bytes", &SavedStore::staging_bytes)
      .def_property_readonly("notes", &SavedStore::notes);
}

}  // namespace sluice
