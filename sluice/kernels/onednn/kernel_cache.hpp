// Kernels of one processor, each made once: a network repeats its blocks, and a primitive costs up to 0.5 ms to create.
//
// A kernel is made with the OpenMP threads of its processor, because primitives split their work when they are created.
// One caller at a time; so is each kernel.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sluice/kernels/onednn/kernel/kernel.hpp"

namespace sluice::kernels {

// `request` with every layout as the kernel that was made for it has it.
KernelRequest in_layouts_of(const KernelRequest& request, const Kernel& kernel);

bool same_layouts(const Kernel& a, const Kernel& b);

class KernelCache {
 public:
  KernelCache(dnnl::engine engine, int threads) : engine_(std::move(engine)), threads_(threads) {}

  std::shared_ptr<Kernel> find_or_make(const KernelRequest& request);
  // In the layouts of `model`; nullptr where oneDNN has none in these, or for one of several methods only a slow
  // reference.
  std::shared_ptr<Kernel> find_like(const KernelRequest& request, const Kernel& model);
  // The same, by another method if the request leaves that open. Throws dnnl::error where there is none.
  std::shared_ptr<Kernel> find_or_make_like(const KernelRequest& request, const Kernel& model);
  std::shared_ptr<Kernel> find_or_make_reorder(const Layout& from, const Layout& to);

 private:
  std::shared_ptr<Kernel> find_or_none(const KernelRequest& request);
  void use_threads() const;

  dnnl::engine engine_;
  int threads_;
  std::vector<std::pair<KernelRequest, std::shared_ptr<Kernel>>> kernels_;
  std::vector<std::shared_ptr<Kernel>> reorders_;
};

}  // namespace sluice::kernels
