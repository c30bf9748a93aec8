// Kernel times published with AutoTM (Hildebrand et al., ASPLOS 2020; github.com/darchr/AutoTM, MIT licence): every
// placement of a kernel's tensors in DRAM and in Optane, on one 24-core socket. Two tables, as exported from its cache:
//   fuzz_kernels.csv  kernel_id,op,input_shapes,output_shapes,...,input_bytes,output_bytes,...
//                     several tensors are joined by ';'; a shape begins with the dimension whose neighbours lie together
//   fuzz_times.csv    kernel_id,input_locs,output_locs,time_us        a letter for each tensor: D DRAM, P persistent
#pragma once

#include <string>
#include <vector>

#include "sluice/base/result.hpp"
#include "sluice/base/units.hpp"
#include "sluice/graph/ops/tensor.hpp"

namespace sluice::benchmarks::autotm {

struct Placement {
  std::string locations;  // inputs, then outputs
  Seconds seconds = 0;
};

struct Kernel {
  int id = 0;
  std::string op;
  std::vector<Bytes> inputs;
  std::vector<Bytes> outputs;
  std::vector<graph::Shape> shapes;   // of inputs, then outputs; dimensions in Sluice's order (graph/ops/op.hpp)
  std::vector<Placement> placements;  // the first has everything in DRAM, the last the most in Optane
};

// Kernels with a time of 0 (below the timer's microsecond) with everything in DRAM are left out: they have no ratio.
// kBadInput for a file that is missing or not such a table.
Result<std::vector<Kernel>> read_kernels(const std::string& folder);

}  // namespace sluice::benchmarks::autotm
