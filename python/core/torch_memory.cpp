// sluice._torch: PyTorch's memory comes from a PagePool, so that tensors begin with pages, can leave as they are, and what
// all of them take together is known. Tensors below kSmallest, and all that were made before, stay PyTorch's own.
//
// The allocator lives as long as the process: tensors may be freed at any moment, and PyTorch keeps the pointer.
#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <pthread.h>
#include <pybind11/pybind11.h>
#include <torch/library.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "python/core/in_place.hpp"
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

class PoolAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) const override {
    void* memory = nullptr;
    if (bytes >= kSmallest) memory = pool->take(static_cast<Bytes>(bytes));
    if (memory != nullptr) {
      c10::profiledCPUMemoryReporter().New(memory, bytes);
    } else {
      memory = const_cast<c10::Allocator*>(before)->raw_allocate(bytes);
    }
    return {memory, memory, &free_memory, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_memory; }
};

void install() {
  if (pool != nullptr) return;
  const Bytes memory = static_cast<Bytes>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  auto reserved = PagePool::reserve(8 * memory);
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

}  // namespace

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
  module.def("begin_step", &begin_step,
             "Until its end, backward ops may write over the gradients that are theirs alone.");
  module.def("end_step", &end_step);
  module.attr("smallest") = kSmallest;
}
