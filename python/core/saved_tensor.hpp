// What autograd saves of a tensor for the backward pass, kept as autograd itself keeps it without hooks: an op's input is that
// very tensor; an op's output is its values without its history, so that no graph holds itself. All but the bytes (sizes,
// strides, type, conjugate and negative bits, the count of changes) is a tensor of PyTorch's from beginning to end.
//
// PyTorch checks neither changes in place nor lost histories of what hooks give back; unpack() does, and fails exactly where
// PyTorch would without us. Threads: with the interpreter's lock.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace sluice::python {

class SavedStorage;

class SavedTensor {
 public:
  // `storage`: whose bytes may leave; null for a tensor that stays.
  SavedTensor(const at::Tensor& tensor, std::shared_ptr<SavedStorage> storage);
  ~SavedTensor();
  SavedTensor(const SavedTensor&) = delete;
  SavedTensor& operator=(const SavedTensor&) = delete;

  // What PyTorch would have now; its bytes have to be in memory. Throws std::runtime_error where PyTorch would. `by_function`,
  // called where the history is lost: whether a function of the user's asks, which PyTorch allows (and we only without gradients
  // of gradients), and not one of its own ops.
  at::Tensor unpack(const std::function<bool()>& by_function) const;

  const std::shared_ptr<SavedStorage>& storage() const { return storage_; }

 private:
  friend class SavedStorage;

  bool has_lost_history() const;
  void refuse_lost_history(const std::function<bool()>& by_function) const;
  at::Tensor settle();

  at::Tensor tensor_;
  std::shared_ptr<SavedStorage> storage_;
  std::uint32_t version_;
  bool leaf_;
  bool original_;  // the tensor itself, which others may know as well
  bool lost_history_ = false;
};

}  // namespace sluice::python
