#include "python/core/saved_storage.hpp"

#include <c10/core/CPUAllocator.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "python/core/pool_memory.hpp"
#include "python/core/raise_error.hpp"
#include "sluice/base/as_index.hpp"

namespace sluice::python {
namespace {

std::byte* pages_of(const c10::Storage& storage) { return static_cast<std::byte*>(storage.data_ptr().get()); }

}  // namespace

SavedStorage::SavedStorage(const at::Tensor& tensor, std::shared_ptr<Absent> absent, int number_of_step)
    : number(number_of_step),
      storage_(tensor.storage()),
      reference_(storage_.getWeakStorageImpl()),
      nbytes_(static_cast<Bytes>(storage_.nbytes())),
      absent_(std::move(absent)) {}

std::shared_ptr<SavedTensor> SavedStorage::save(const at::Tensor& tensor) {
  auto saved = std::make_shared<SavedTensor>(tensor, shared_from_this());
  tensors_.push_back(saved.get());
  asked = false;
  return saved;
}

void SavedStorage::remove(const SavedTensor& tensor) {
  std::erase(tensors_, &tensor);
  if (tensors_.empty()) release();
}

// Nobody else has its tensors, and nobody else has it. Tensors that were given another storage are no longer its tensors.
bool SavedStorage::is_ours() {
  std::vector<at::Tensor> dropped;  // behind the loop: whatever hangs on them may call us
  std::vector<std::shared_ptr<SavedStorage>> moved;
  const std::vector<SavedTensor*> all = tensors_;
  for (SavedTensor* each : all) {
    if (!each->original_) continue;
    if (!each->tensor_.storage().is_alias_of(storage_)) {
      std::erase(tensors_, each);
      moved.push_back(std::exchange(each->storage_, nullptr));
      continue;
    }
    const auto same = [each](const SavedTensor* other) { return other->tensor_.is_same(each->tensor_); };
    if (each->tensor_.use_count() != static_cast<std::size_t>(std::ranges::count_if(tensors_, same))) return false;
    for (SavedTensor* other : tensors_) {
      if (other != each && same(other)) dropped.push_back(other->settle());
    }
    dropped.push_back(each->settle());
  }
  dropped.clear();
  if (tensors_.empty()) release();
  if (tensors_.empty() || storage_.use_count() != 1 + tensors_.size()) return false;
  return static_cast<Bytes>(storage_.nbytes()) == nbytes_ && is_of_pool(storage_.data_ptr());  // not resized since
}

bool SavedStorage::leave(const std::shared_ptr<offload::SavedStore>& store) {
  forget();
  id_ = store->leave(pages_of(storage_), nbytes_);
  if (!id_) return false;
  store_ = store;
  place_ = Place::kLeaving;
  return true;
}

void SavedStorage::wait_left() {
  if (place_ != Place::kLeaving) return;
  const std::shared_ptr<offload::SavedStore> store = store_;
  const offload::SavedStore::Id id = *id_;
  const pybind11::gil_scoped_release others_run;
  raise_unless_ok(store->wait_left(id));
}

void SavedStorage::finish_leaving() {
  if (place_ != Place::kLeaving || !store_->left(*id_)) return;
  const at::DataPtr freed = storage_.set_data_ptr(at::DataPtr(nullptr, c10::Device(c10::DeviceType::CPU)));
  place_ = Place::kAway;
  absent_->bytes += nbytes_;
}

void SavedStorage::bring() {
  at::DataPtr memory = c10::GetCPUAllocator()->allocate(as_index(nbytes_));
  if (!is_of_pool(memory)) throw std::runtime_error("no address is left for a tensor that comes back from the disk");
  storage_.set_data_ptr(std::move(memory));
  place_ = Place::kComing;
  absent_->bytes -= nbytes_;
  store_->bring(*id_, pages_of(storage_));
}

bool SavedStorage::fetch() {
  asked = true;
  if (place_ == Place::kLeaving) place_ = Place::kHere;  // it stays after all
  if (place_ == Place::kAway) bring();
  if (place_ != Place::kComing) return false;
  const std::shared_ptr<offload::SavedStore> store = store_;
  const offload::SavedStore::Id id = *id_;
  const bool waits = !store->here(id);
  {
    const pybind11::gil_scoped_release others_run;
    raise_unless_ok(store->wait_here(id));
  }
  forget();
  place_ = Place::kHere;
  return waits;
}

// Waits where its bytes are just being written or read.
void SavedStorage::forget() {
  const std::shared_ptr<offload::SavedStore> store = std::exchange(store_, nullptr);
  const auto id = std::exchange(id_, std::nullopt);
  if (!id || process_ != ::getpid()) return;  // the threads that move bytes are the parent's
  const pybind11::gil_scoped_release others_run;
  store->forget(*id);
}

void SavedStorage::release() {
  if (place_ == Place::kReleased) return;
  if (place_ == Place::kAway) absent_->bytes -= nbytes_;
  place_ = Place::kReleased;
  forget();
  storage_ = {};
}

void bind_saved_storage(pybind11::module_& module) {
  namespace py = pybind11;
  py::class_<Absent, std::shared_ptr<Absent>>(module, "Absent", "Bytes of saved storages that are in no memory.")
      .def(py::init<>())
      .def_readwrite("bytes", &Absent::bytes);
  py::class_<SavedTensor, std::shared_ptr<SavedTensor>>(module, "SavedTensor", "What autograd saves of a tensor.")
      .def(py::init([](const at::Tensor& tensor) { return std::make_shared<SavedTensor>(tensor, nullptr); }),
           py::arg("tensor"), "Of a tensor that stays.")
      .def_property_readonly("storage", &SavedTensor::storage, "Whose bytes may leave; None for a tensor that stays.")
      .def(
          "unpack",
          [](const SavedTensor& saved, const py::function& by_function) {
            return saved.unpack([&by_function] { return by_function().cast<bool>(); });
          },
          py::arg("by_function"),
          "What PyTorch would have now. A RuntimeError where PyTorch would raise one, which depends for a history that is "
          "lost on who asks: `by_function` returns whether a Function does.");
  const auto is = [](SavedStorage::Place place) {
    return [place](const SavedStorage& storage) { return storage.place() == place; };
  };
  using Place = SavedStorage::Place;
  py::class_<SavedStorage, std::shared_ptr<SavedStorage>>(module, "SavedStorage", "The bytes of saved tensors.")
      .def(py::init<const at::Tensor&, std::shared_ptr<Absent>, int>(), py::arg("tensor"), py::arg("absent"),
           py::arg("number"))
      .def("save", &SavedStorage::save, py::arg("tensor"))
      .def_property_readonly("here", is(Place::kHere))
      .def_property_readonly("leaving", is(Place::kLeaving))
      .def_property_readonly("away", is(Place::kAway))
      .def_property_readonly("released", &SavedStorage::is_unwanted, "Whether it has no saved tensors (any more).")
      .def_property_readonly("nbytes", &SavedStorage::nbytes)
      .def_property_readonly("outlived", &SavedStorage::outlived, "Whether anybody has it.")
      .def_readwrite("number", &SavedStorage::number, "In the step that goes on; None where that step is over.")
      .def_readonly("asked", &SavedStorage::asked, "Whether it was asked for since it was saved last.")
      .def("is_ours", &SavedStorage::is_ours, "Whether nobody else reaches its bytes: they may leave.")
      .def("leave", &SavedStorage::leave, py::arg("store"),
           "What is here and ours begins to leave; False: the file is full.")
      .def("wait_left", &SavedStorage::wait_left)
      .def("finish_leaving", &SavedStorage::finish_leaving, "Frees the memory of what has left.")
      .def("bring", &SavedStorage::bring, "What is away begins to come back.")
      .def("fetch", &SavedStorage::fetch, "It is here when this returns; whether that took a wait.");
}

}  // namespace sluice::python
