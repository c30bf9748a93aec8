// Keeps in bf16, or fp16, the parameters that a mixed-precision step multiplies by in it: what the device computes with is half
// as large, and what only the optimizer needs is apart (ZeRO-Offload, section 5.2 and figure 5.2).
//
//   before   w (fp32)  --cast-->  w.bf16, twice a step          update   w, dw, moments             >  w, moments
//   after    w (bf16), w.master (fp32)
//            dw        --cast-->  dw.bf16                       update   w.master, dw.bf16, moments >  w.master, moments, w
//
//   bytes of a parameter, with Adam    before 4, gradient 4, moments 8    after 2, gradient 2, master and moments 12
//
// The master begins as the parameter did, so a step computes with the same bits as before, until gradients, which are
// rounded once more here, have changed it. Parameters that anything reads in fp32 (of norms, biases, embeddings) stay.
#pragma once

#include "sluice/graph/graph.hpp"

namespace sluice::graph {

// `mixed`: a training graph in mixed precision (mixed_precision.hpp).
Graph keep_half_parameters(const Graph& mixed);

}  // namespace sluice::graph
