// What the emulation's rule (sluice/profile/memory_time.hpp) says of AutoTM's kernels, given AutoTM's machine.
//
// In: a kernel's time with everything in DRAM, and its tensors' bytes. Out: its time for any placement. The caches hold
// nothing of a kernel's operands when it starts, because AutoTM's profiler moves them with streaming stores before; what
// a kernel wrote and the caches still hold at its end was never waited for.
//
// The machine, by AutoTM section 5.1 and its artifact:
//   one socket, 24 cores      one thread each
//   caches                    24 x 1 MiB of their own and 35.75 MiB shared (Cascade Lake)
//   DRAM                      6 x DDR4-2666: 128 GB/s
//   Optane                    6 x 128 GB modules: the preset `optane`, figure by figure
// Fitted on one half of the kernels, for all of them alike:
//   usable share              of the caches (memory/presets.cpp uses the same)
//   seconds per output        that each tensor written in Optane costs, however small: it is there for outputs of 128
//                             bytes, where hundreds of the memory's latencies pass, and so belongs to their program or
//                             system and not to the memory. The presets have nothing like it.
#pragma once

#include "benchmarks/papers/autotm_data.hpp"
#include "sluice/graph/ops/op.hpp"
#include "sluice/memory/machine.hpp"

namespace sluice::benchmarks::autotm {

struct Fit {
  double usable_caches = 0;
  Seconds per_output = 0;
};

// One of AutoTM's ops (nGraph's name), and the kind under which it is counted: few kernels are counted with their kin.
struct KernelOp {
  std::string op;
  graph::OpKind kind;  // whose sweeps it makes
  std::string counted_as;
  bool in_bar = false;  // among those that must be met within 1.5 times
};
const std::vector<KernelOp>& kernel_ops();

struct KernelKind {
  std::string name;
  bool in_bar = false;
  std::vector<Kernel> kernels;
};
// In the order of kernel_ops(); kinds without a kernel are left out.
std::vector<KernelKind> by_kind(const std::vector<Kernel>& kernels);

memory::Machine autotm_machine();

// `placement` of the kernel, predicted from its time with everything in DRAM.
Seconds predict(const memory::Machine& machine, const Fit& fit, const Kernel& kernel, const Placement& placement);

// How far predictions are from measurements: means of |log(predicted / measured)| with the most in Optane, added over
// the kinds in the bar.
double distance(const memory::Machine& machine, const Fit& fit, const std::vector<KernelKind>& kinds);

// The least distant of a grid.
Fit fit_to(const memory::Machine& machine, const std::vector<Kernel>& kernels);

// The kernels with an even or an odd number.
std::vector<Kernel> half_of(const std::vector<Kernel>& kernels, bool even);

}  // namespace sluice::benchmarks::autotm
