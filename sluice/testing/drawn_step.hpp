// A step small enough to count by hand, with accesses and offsets. For tests of what is observed about a step.
//
//   span      0 (a, forward)   1 (b, forward)   2 (b, backward)   3 (a, backward and update)
//   op        0       1        2                3                 4       5
//   w  8192   r       .        .                .                 .       rw      persistent
//   a 40960   w       r        .                .                 r               lives 4 layers
//   s  4095   w                                                                   short-lived, small
//   t   512           w        r                                                  lives 2 layers
//   l     4                    w                .                 .       .       output: lives to the end, 3 layers
//   g 20480                                     w                 r               lives 2 layers
//   d  8192                                                       w       r       short-lived, large
//   (unused: 12345 bytes, no op)
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sluice/graph/liveness.hpp"
#include "sluice/profile/access_profile.hpp"

namespace sluice::testing {

struct DrawnStep {
  enum : graph::TensorId { kW, kA, kS, kT, kL, kG, kD, kUnused };

  DrawnStep() {
    graph.name = "drawn";
    graph.layers = {"a", "b"};
    for (const auto& [name, role, bytes] :
         {std::tuple("w", graph::Role::kParameter, Bytes{8192}),
          std::tuple("a", graph::Role::kActivation, Bytes{40960}),
          std::tuple("s", graph::Role::kWorkspace, Bytes{4095}), std::tuple("t", graph::Role::kActivation, Bytes{512}),
          std::tuple("l", graph::Role::kOutput, Bytes{4}),
          std::tuple("g", graph::Role::kActivationGradient, Bytes{20480}),
          std::tuple("d", graph::Role::kGradient, Bytes{8192}),
          std::tuple("unused", graph::Role::kWorkspace, Bytes{12345})}) {
      graph::Tensor tensor;
      tensor.name = name;
      tensor.role = role;
      tensor.bytes = bytes;
      graph.add_tensor(tensor);
    }
    op({kW}, {kA, kS}, 0, graph::Phase::kForward);
    op({kA}, {kT}, 0, graph::Phase::kForward);
    op({kT}, {kL}, 1, graph::Phase::kForward);
    op({}, {kG}, 1, graph::Phase::kBackward);
    op({kG, kA}, {kD}, 0, graph::Phase::kBackward);
    op({kD, kW}, {kW}, 0, graph::Phase::kUpdate);
    liveness = graph::analyze_liveness(graph);
    count_accesses();
  }

  graph::Graph graph;
  graph::Liveness liveness;
  profile::AccessProfile accesses;  // a page of: w 3, a 3, s 201, t 2, l 1, g 11, d 11
  // Page 2: s, and d later. Page 14: t, l, and the beginning of g. The other tensors are alone on their pages; `unused`
  // has no place.
  std::vector<Bytes> offsets{0, 16384, 8192, 57344, 57856, 57920, 8192, -1};
  Bytes end = 78400;

 private:
  void op(std::vector<graph::TensorId> inputs, std::vector<graph::TensorId> outputs, graph::LayerIndex layer,
          graph::Phase phase) {
    graph::Op op;
    op.name = "op" + std::to_string(graph.op_count());
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.layer = layer;
    op.phase = phase;
    graph.add_op(op);
  }

  void count_accesses() {
    accesses.graph_fingerprint = graph.fingerprint();
    accesses.method = "by hand";
    accesses.ops = {
        {{kW, 2, 0}, {kA, 0, 10}, {kS, 100, 101}}, {{kA, 10, 0}, {kT, 0, 1}}, {{kT, 1, 0}, {kL, 0, 1}}, {{kG, 0, 5}},
        {{kG, 50, 0}, {kA, 10, 0}, {kD, 0, 20}},   {{kD, 2, 0}, {kW, 2, 2}}};
  }
};

}  // namespace sluice::testing
