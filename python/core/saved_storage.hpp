// The bytes of tensors that autograd has saved: in memory, in a store, or on their way.
//
//   here -> leaving -> away -> coming -> here, and released with the last of its tensors
//
// Only bytes that nobody else reaches leave (is_ours()): so nobody can change them meanwhile, under whatever name, and what
// comes back is what PyTorch would have. The storage object stays and only its memory goes: tensors on it need not know.
//
// Each function is done or not done whenever Python interrupts the program. Threads: with the interpreter's lock, which others
// may have while a function waits for the disk. A child of the process may drop storages, nothing else.
#pragma once

#include <ATen/core/Tensor.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <vector>

#include "python/core/saved_tensor.hpp"
#include "sluice/offload/saved_store.hpp"

namespace sluice::python {

// Bytes of the storages that count on it that are in no memory.
struct Absent {
  Bytes bytes = 0;
};

class SavedStorage : public std::enable_shared_from_this<SavedStorage> {
 public:
  enum class Place { kHere, kLeaving, kAway, kComing, kReleased };

  // Of a tensor whose memory is the pool's. `number`: of the storage, among those of its step.
  SavedStorage(const at::Tensor& tensor, std::shared_ptr<Absent> absent, int number);
  ~SavedStorage() { release(); }
  SavedStorage(const SavedStorage&) = delete;
  SavedStorage& operator=(const SavedStorage&) = delete;

  std::shared_ptr<SavedTensor> save(const at::Tensor& tensor);  // on this storage
  void remove(const SavedTensor& tensor);

  Place place() const { return place_; }
  Bytes nbytes() const { return nbytes_; }
  bool is_unwanted() const { return tensors_.empty(); }
  bool outlived() const { return !reference_.expired(); }  // somebody has it, whether we or others

  bool is_ours();
  bool leave(
      const std::shared_ptr<offload::SavedStore>& store);  // from here, where it is ours; false: the file is full
  void wait_left();                                        // while leaving
  void finish_leaving();  // its memory is freed if it is leaving and its bytes are in the file
  void bring();           // from away
  bool fetch();           // from anywhere to here; whether that took a wait

  std::optional<int> number;  // in the step that goes on
  bool asked = false;         // for a gradient since it was saved last: it does not leave again

 private:
  void forget();
  void release();

  c10::Storage storage_;
  c10::weak_intrusive_ptr<c10::StorageImpl> reference_;
  const Bytes nbytes_;
  const ::pid_t process_ = ::getpid();
  const std::shared_ptr<Absent> absent_;
  std::vector<SavedTensor*> tensors_;
  Place place_ = Place::kHere;
  std::shared_ptr<offload::SavedStore> store_;
  std::optional<offload::SavedStore::Id> id_;
};

void bind_saved_storage(pybind11::module_& module);

}  // namespace sluice::python
