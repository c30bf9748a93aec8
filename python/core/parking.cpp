#include "python/core/parking.hpp"

#include <pybind11/stl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/core/own_process.hpp"
#include "python/core/raise_error.hpp"
#include "sluice/offload/saved_store.hpp"

namespace sluice::python {
namespace {

namespace py = pybind11;
using offload::SavedStore;

std::byte* address(std::uintptr_t number) { return reinterpret_cast<std::byte*>(number); }

// One tensor: leaving, then away, and coming as often as it is asked for. Callers hold the interpreter's lock.
class Parked {
 public:
  Parked(std::shared_ptr<SavedStore> store, SavedStore::Id id, py::object memory)
      : store_(std::move(store)), id_(id), memory_(std::move(memory)) {}
  ~Parked() {
    if (::getpid() == process_) store_->forget(id_);
  }
  Parked(const Parked&) = delete;
  Parked& operator=(const Parked&) = delete;

  bool leaving() const { return leaving_; }
  bool coming() const { return !leaving_ && !memory_.is_none(); }
  bool left() const { return leaving_ && store_->left(id_); }
  py::object memory() const { return memory_; }

  // Waits; then the memory may go. Where it could not be written it stays the only one that has the bytes.
  void finish_leaving() {
    check_process();
    if (!leaving_) return;
    wait([&] { return store_->wait_left(id_); });
    leaving_ = false;
    memory_ = py::none();
  }

  void bring(py::object memory, std::uintptr_t into) {
    check_process();
    if (leaving_ || coming()) throw std::logic_error("what comes back is away");
    store_->bring(id_, address(into));
    memory_ = std::move(memory);
  }

  // Waits; the memory is the caller's, and the file still has the bytes.
  py::object wait_here() {
    check_process();
    if (!coming()) throw std::logic_error("what is waited for comes back");
    const py::object memory = memory_;
    const auto ended = [&] { memory_ = py::none(); };
    try {
      wait([&] { return store_->wait_here(id_); });
    } catch (...) {
      ended();
      throw;
    }
    ended();
    return memory;
  }

 private:
  void check_process() const {
    if (::getpid() != process_)
      throw std::runtime_error("the tensor is on the disk for the process that forked this one");
  }

  template <typename Wait>
  static void wait(Wait&& until_done) {
    Status status;
    {
      const py::gil_scoped_release others_run;
      status = until_done();
    }
    raise_unless_ok(status);
  }

  std::shared_ptr<SavedStore> store_;
  SavedStore::Id id_;
  py::object memory_;  // in which bytes are on their way
  bool leaving_ = true;
  pid_t process_ = ::getpid();
};

// A file that is as large as it has to be: one more where those that are there have no room, as large as all of them.
class ParkingFile {
 public:
  ParkingFile(std::string folder, Bytes expected) : folder_(std::move(folder)), expected_(expected) {}

  std::unique_ptr<Parked> park(py::object memory, std::uintptr_t from, Bytes bytes) {
    for (const std::shared_ptr<SavedStore>& store : stores_) {
      if (const auto id = store->leave(address(from), bytes)) return std::make_unique<Parked>(store, *id, memory);
    }
    const Bytes more = std::max({SavedStore::whole_pages(bytes), bytes_, expected_});
    stores_.push_back(of_this_process(value_or_raise(SavedStore::open({folder_, more}))));
    bytes_ += more;
    return std::make_unique<Parked>(stores_.back(), stores_.back()->leave(address(from), bytes).value(), memory);
  }

  Bytes bytes() const { return bytes_; }

  std::vector<std::string> notes() const {
    std::vector<std::string> all;
    for (const auto& store : stores_) {
      for (std::string& note : store->notes()) all.push_back(std::move(note));
    }
    return all;
  }

 private:
  const std::string folder_;
  const Bytes expected_;
  Bytes bytes_ = 0;
  std::vector<std::shared_ptr<SavedStore>> stores_;
};

}  // namespace

void bind_parking(py::module_& module) {
  py::class_<Parked>(module, "Parked", "A tensor in a ParkingFile, or on its way there or back.")
      .def_property_readonly("leaving", &Parked::leaving)
      .def_property_readonly("coming", &Parked::coming)
      .def_property_readonly("memory", &Parked::memory, "What its bytes are on their way from or to, or None.")
      .def("left", &Parked::left, "Whether finish_leaving() does not wait.")
      .def("finish_leaving", &Parked::finish_leaving, "Its memory is let go of, once it has left.")
      .def("bring", &Parked::bring, py::arg("memory"), py::arg("address"), "Begins to come back, into whole pages.")
      .def("wait_here", &Parked::wait_here, "The memory with its bytes. The file keeps them: it may come once more.");
  py::class_<ParkingFile>(module, "ParkingFile", "A file for tensors, without a name, that grows as they need it.")
      .def(py::init<std::string, Bytes>(), py::arg("folder"), py::arg("expected"))
      .def("park", &ParkingFile::park, py::arg("memory"), py::arg("address"), py::arg("bytes"),
           "Begins to move away, from whole pages.")
      .def_property_readonly("bytes", &ParkingFile::bytes)
      .def_property_readonly("notes", &ParkingFile::notes);
}

}  // namespace sluice::python
