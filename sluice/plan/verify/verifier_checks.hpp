// The verifier's parts; private to this folder. Each check adds what it finds to Findings and needs only what is said
// here.
#pragma once

#include <string>
#include <vector>

#include "sluice/plan/verify/geometry.hpp"
#include "sluice/plan/verify/verifier.hpp"

namespace sluice::plan {

inline constexpr std::size_t kMostViolations = 20;
inline constexpr std::size_t kMostRepetitions = 64;  // slots of a schedule, for each op of the graph

// Collects violations with the op they belong to, and gives them out in op order.
class Findings {
 public:
  void add(Rule rule, graph::OpIndex op, std::string_view message) {
    found_.push_back({op, {rule, std::string(message)}});
  }
  bool empty() const { return found_.empty(); }
  std::vector<Violation> in_op_order() &&;

 private:
  struct Found {
    graph::OpIndex op;
    Violation violation;
  };
  std::vector<Found> found_;
};

// How messages name things: "op 3 'conv1'", "tensor 5 'conv1.w'",
// "residency 7 (tier 1 'file', bytes [4096, 8192), ops [3, 7))", "migration 2 (issue after 3, needed by 6)".
class Names {
 public:
  Names(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan,
        const std::vector<verify::Extent>& extents)
      : graph_(graph), machine_(machine), plan_(plan), extents_(extents) {}
  std::string op(graph::OpIndex op) const;
  std::string tensor(graph::TensorId tensor) const;
  std::string tier(memory::TierId tier) const;
  std::string residency(ResidencyIndex residency) const;
  std::string migration(MigrationIndex migration) const;

 private:
  const graph::Graph& graph_;
  const memory::Machine& machine_;
  const Plan& plan_;
  const std::vector<verify::Extent>& extents_;  // by ResidencyIndex
};

// kWellFormed. The only check that may be run on a plan about which nothing is known yet.
void check_form(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan, Findings& findings);

// kWellFormed, of blocks. The first needs residencies that are in range, and is a part of check_form(); the second also
// needs well-formed migrations.
void check_blocks(const graph::Graph& graph, const Plan& plan, Findings& findings);
void check_block_migrations(const Plan& plan, Findings& findings);

// kNoOverlap, kWithinBudget, and the part of kSourceStaysValid that concerns room. Needs a well-formed plan.
void check_rooms(const memory::Machine& machine, const Plan& plan, const std::vector<verify::Extent>& extents,
                 const Names& names, Findings& findings);

// kWellFormed, of stitches. Needs residencies that are in range and end below the largest number of bytes.
void check_stitches(const memory::Machine& machine, const Plan& plan, const std::vector<verify::Extent>& extents,
                    Findings& findings);

// kEncodingAllowed, but for what ops use. Needs a well-formed plan.
void check_encodings(const graph::Graph& graph, const Plan& plan, const Names& names, Findings& findings);

// All rules about which copy is valid when, and kTierAddressable, kLinkExists, and of kEncodingAllowed what ops use.
// Needs a well-formed plan.
void check_copies(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan, const Names& names,
                  Findings& findings);

}  // namespace sluice::plan
