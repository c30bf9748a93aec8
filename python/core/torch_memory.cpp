// sluice._torch: PyTorch's memory comes from a PagePool, so that tensors begin with pages, can leave as they are, and what
// all of them take together is known. Tensors below kSmallest, and all that were made before, stay PyTorch's own.
//
// The allocator lives as long as the process: tensors may be freed at any moment, and PyTorch keeps the pointer.
#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>
#include <pthread.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <typeinfo>
#include <utility>
#include <vector>

#include "python/core/hooks.hpp"
#include "python/core/in_place.hpp"
#include "python/core/pool_memory.hpp"
#include "python/core/saved_storage.hpp"
#include "python/core/torch_version.hpp"
#include "sluice/base/limits/memory_allowance.hpp"
#include "sluice/memory/allocators/page_pool.hpp"

namespace {

namespace py = pybind11;
using sluice::Bytes;
using sluice::memory::PagePool;

constexpr std::size_t kSmallest = 64 << 10;

PagePool* pool = nullptr;
c10::Allocator* before = nullptr;  // who served, and serves what is small

// Also for what `before` has given out: PyTorch's oneDNN frees by the allocator of that moment.
void free_memory(void* memory) {
  if (!pool->owns(memory)) {
    before->raw_deallocate(memory);
    return;
  }
  c10::profiledCPUMemoryReporter().Delete(memory);
  pool->give(static_cast<std::byte*>(memory));
}

class PoolAllocator final : public sluice::python::PlainAllocator {
 public:
  c10::DeleterFnPtr raw_deleter() const override { return &free_memory; }

 protected:
  c10::DataPtr serve(std::size_t bytes) const override {
    void* memory = nullptr;
    if (bytes >= kSmallest) memory = pool->take(static_cast<Bytes>(bytes));
    if (memory != nullptr) {
      c10::profiledCPUMemoryReporter().New(memory, bytes);
    } else {
      memory = before->raw_allocate(bytes);
    }
    return {memory, memory, &free_memory, c10::Device(c10::DeviceType::CPU)};
  }
};

// Eight times as many as there is memory, so that holes cost none (page_pool.hpp); half of what `ulimit -v` leaves where that is
// less. What finds no room in the pool is PyTorch's own.
Bytes addresses_to_reserve() {
  const Bytes memory = static_cast<Bytes>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  return std::min(8 * memory, sluice::addresses_left() / 2);
}

void install() {
  if (pool != nullptr) return;
  auto reserved = PagePool::reserve(addresses_to_reserve());
  if (!reserved.ok()) throw std::runtime_error(reserved.error().message);
  before = c10::GetCPUAllocator();
  if (before->raw_deleter() == nullptr) {
    throw std::runtime_error("PyTorch's memory comes from an allocator that cannot be extended");
  }
  pool = std::move(reserved).value().release();
  ::pthread_atfork([] { pool->lock(); }, [] { pool->unlock(); }, [] { pool->unlock(); });
  c10::SetCPUAllocator(new PoolAllocator, 1);
  replace_ops();
}

// Who else has a strided tensor, or its memory: Python counts its own references alone. As an op, which takes Python's tensors
// without a library of PyTorch's for Python.
std::vector<std::int64_t> owners(const at::Tensor& tensor) {
  return {static_cast<std::int64_t>(tensor.use_count()), static_cast<std::int64_t>(tensor.storage().use_count())};
}

bool owns(std::uintptr_t address) { return pool->owns(reinterpret_cast<const void*>(address)); }

// Of a plain tensor in memory of the pool's: a number of its storage, and whether that memory was taken after the `since`-th.
// Sparse tensors, those of other devices or kinds, and memory that somebody lends (NumPy, other processes) stay.
std::optional<std::pair<std::uintptr_t, bool>> movable(const at::Tensor& tensor, std::int64_t since) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const bool plain = typeid(impl) == typeid(c10::TensorImpl) && impl.has_storage() && tensor.device().is_cpu() &&
                     !impl.key_set().has(c10::DispatchKey::Python);
  if (!plain) return std::nullopt;
  const c10::Storage& storage = impl.unsafe_storage();
  if (storage.nbytes() < kSmallest || !sluice::python::is_of_pool(storage.data_ptr())) return std::nullopt;
  const bool fresh = pool->number_of(static_cast<const std::byte*>(storage.data_ptr().get())) > since;
  return std::pair(reinterpret_cast<std::uintptr_t>(storage.unsafeGetStorageImpl()), fresh);
}

}  // namespace

namespace sluice::python {

bool is_of_pool(const at::DataPtr& data) {
  return data.get_deleter() == &free_memory && pool->number_of(static_cast<const std::byte*>(data.get())) > 0;
}

}  // namespace sluice::python

TORCH_LIBRARY(sluice, library) { library.def("owners(Tensor tensor) -> int[]", &owners); }

PYBIND11_MODULE(_torch, module) {
  module.doc() = "PyTorch's memory, of Sluice's.";
  module.def("install", &install, "From now on tensors of 64 KiB and more are in the pool. Once a process.");
  module.def("owns", &owns, py::arg("address"), "Whether a storage that begins there is in the pool.");
  module.def(
      "set_limit", [](Bytes bytes) { pool->set_limit(bytes); }, py::arg("resident"),
      "Bytes beyond which nothing is kept for later tensors.");
  module.def(
      "used", [] { return pool->used(); }, "Bytes of tensors, in whole pages.");
  module.def(
      "resident", [] { return pool->resident(); }, "Bytes of tensors, and of memory kept for later ones.");
  module.def(
      "held", [] { return pool->held(); }, "The least that resident() can be while these tensors are there.");
  module.def(
      "peaks", [] { return std::pair(pool->peak_used(), pool->peak_resident()); },
      "The most that used() and resident() were since begin_peaks().");
  module.def("begin_peaks", [] { pool->begin_peaks(); });
  module.def(
      "grown", [] { return pool->grown(); }, "Bytes of fresh memory since the beginning.");
  module.def(
      "takes", [] { return pool->takes(); }, "How often memory of the pool was taken: the age of what comes next.");
  module.def("movable", &movable, py::arg("tensor"), py::arg("since"),
             "(a number of its storage, whether that was taken since then), or None where the tensor's bytes stay.");
  sluice::python::bind_saved_storage(module);
  sluice::python::bind_hooks(module);
  module.def("begin_step", &begin_step,
             "Until its end, backward ops may write over the gradients that are theirs alone.");
  module.def("end_step", &end_step);
  module.attr("smallest") = kSmallest;
}
