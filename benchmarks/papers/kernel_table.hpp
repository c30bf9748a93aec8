// AutoTM's kernels, looked up by what they do and the shapes they do it on; with a rule for what nobody published.
//
// A kernel is found by its name and its operands' sizes, among equal ones by shape (a 1x7 convolution has the sizes of a
// 7x1). Where there is none:
//
//   scaled    the nearest kernel of that name, its time by FLOPs (convolutions) or by bytes (the rest)
//   guessed   no kernel of that name: the median time by byte of all
//
// A placement that was not published takes what the largest published part of it took, and what the emulation's rule
// (autotm_model.hpp) adds for the rest. Of scaled and guessed kernels only the time with everything in DRAM is known.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/papers/autotm_model.hpp"
#include "benchmarks/papers/kernel_parts.hpp"

namespace sluice::benchmarks::autotm {

enum class Origin { kPublished, kScaled, kGuessed };

struct TimedKernel {
  Kernel kernel;  // with the part's own bytes
  Origin origin = Origin::kGuessed;
};

class KernelTable {
 public:
  // At least one kernel; each has a time with everything in DRAM (read_kernels()).
  KernelTable(std::vector<Kernel> kernels, memory::Machine machine, Fit fit);

  TimedKernel find(const KernelPart& part) const;

  // `locations`: a letter for each operand, as in Placement.
  Seconds seconds(const Kernel& kernel, const std::string& locations) const;

 private:
  const Kernel* published(const KernelPart& part) const;
  const Kernel* nearest(const KernelPart& part) const;

  std::vector<Kernel> kernels_;
  memory::Machine machine_;
  Fit fit_;
  double median_seconds_per_byte_ = 0;
};

// Whether exactly these locations were timed.
bool is_published(const Kernel& kernel, const std::string& locations);

}  // namespace sluice::benchmarks::autotm
