#include "sluice/kernels/onednn/kernel_cache.hpp"

#include <algorithm>

#include "sluice/kernels/compute_threads.hpp"
#include "sluice/kernels/onednn/fp16_kernel.hpp"

namespace sluice::kernels {
namespace {

bool all_same(const std::vector<Layout>& a, const std::vector<Layout>& b) {
  return std::ranges::equal(a, b, [](const Layout& one, const Layout& other) { return same_bytes(one, other); });
}

}  // namespace

KernelRequest in_layouts_of(const KernelRequest& request, const Kernel& kernel) {
  KernelRequest fixed = request;
  for (std::size_t i = 0; i < fixed.inputs.size(); ++i) fixed.inputs[i].layout = kernel.inputs[i];
  for (std::size_t i = 0; i < fixed.outputs.size(); ++i) fixed.outputs[i].layout = kernel.outputs[i];
  return fixed;
}

bool same_layouts(const Kernel& a, const Kernel& b) {
  return all_same(a.inputs, b.inputs) && all_same(a.outputs, b.outputs);
}

void KernelCache::use_threads() const { use_compute_threads(threads_); }

std::shared_ptr<Kernel> KernelCache::find_or_make(const KernelRequest& request) {
  for (const auto& [known, kernel] : kernels_) {
    if (known == request) return kernel;
  }
  use_threads();
  return kernels_.emplace_back(request, make_kernel(request, engine_)).second;
}

// nullptr where oneDNN has none; for a method that is one of several also where it has only a slow reference.
std::shared_ptr<Kernel> KernelCache::find_or_none(const KernelRequest& request) {
  for (const auto& [known, kernel] : kernels_) {
    if (known == request) return kernel;
  }
  use_threads();
  std::shared_ptr<Kernel> made;
  try {
    made = make_kernel(request, engine_);
  } catch (const dnnl::error& error) {
    if (!says_none(error)) throw;
  }
  const bool optional = request.method != Method::kBest;  // where ops have no other kernel, a slow one has to do
  if (made != nullptr && optional && is_reference(*made)) made = nullptr;
  return kernels_.emplace_back(request, made).second;
}

std::shared_ptr<Kernel> KernelCache::find_like(const KernelRequest& request, const Kernel& model) {
  const std::shared_ptr<Kernel> made = find_or_none(request);
  return made != nullptr && same_layouts(*made, model) ? made : nullptr;
}

// With another number of threads oneDNN may prefer an implementation in other layouts.
std::shared_ptr<Kernel> KernelCache::find_or_make_like(const KernelRequest& request, const Kernel& model) {
  if (std::shared_ptr<Kernel> made = find_like(request, model)) return made;
  KernelRequest direct = request;
  direct.method = Method::kDirect;
  std::shared_ptr<Kernel> made = request.method == Method::kBest ? find_like(direct, model) : nullptr;
  if (made == nullptr) throw dnnl::error(dnnl_unimplemented, "none in the layouts that the main processor uses");
  return made;
}

std::shared_ptr<Kernel> KernelCache::find_or_make_reorder(const Layout& from, const Layout& to) {
  for (const auto& kernel : reorders_) {
    if (kernel->inputs[0] == from && kernel->outputs[0] == to) return kernel;
  }
  use_threads();
  constexpr auto kF16 = dnnl::memory::data_type::f16;
  const bool fp16 = type_of(from) == kF16 || type_of(to) == kF16;
  return reorders_.emplace_back(fp16 ? make_fp16_reorder(from, to, engine_) : make_reorder(from, to, engine_));
}

}  // namespace sluice::kernels
