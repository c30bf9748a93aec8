#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/verify/verifier_checks.hpp"

namespace sluice::plan {
namespace {

class FormCheck {
 public:
  FormCheck(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan, Findings& findings)
      : graph_(graph), machine_(machine), plan_(plan), findings_(findings) {}

  void run() {
    check_lists();
    for (std::size_t i = 0; i < plan_.residencies.size(); ++i) check_residency(i);
    if (!findings_.empty()) return;  // what follows looks tensors, tiers and residencies up
    check_blocks(graph_, plan_, findings_);
    if (!findings_.empty()) return;  // offsets follow from blocks
    check_offsets();
    for (graph::OpIndex op = 0; op < graph_.op_count(); ++op) check_op(op);
    for (std::size_t i = 0; i < plan_.migrations.size(); ++i) check_migration(i);
    if (findings_.empty()) check_block_migrations(plan_, findings_);
    check_one_residency_at_a_time();
  }

 private:
  void fail(graph::OpIndex op, std::string message) { findings_.add(Rule::kWellFormed, op, std::move(message)); }
  bool is_tier(memory::TierId tier) const { return tier >= 0 && as_index(tier) < machine_.tiers.size(); }
  bool is_residency(ResidencyIndex i) const { return i >= 0 && as_index(i) < plan_.residencies.size(); }

  void check_lists() {
    const auto expect = [&](const char* list, std::size_t size, std::size_t expected) {
      if (size == expected) return;
      fail(kStepStart, fmt::format("{} has {} entries, and {} are needed", list, size, expected));
    };
    expect("ops", plan_.ops.size(), graph_.ops().size());
    expect("budgets", plan_.budgets.size(), machine_.tiers.size());
    expect("arena_bytes", plan_.arena_bytes.size(), machine_.tiers.size());
    for (std::size_t tier = 0; tier < plan_.arena_bytes.size(); ++tier) check_arena(tier, plan_.arena_bytes[tier]);
    for (const Bytes budget : plan_.budgets) {
      if (budget < 0) fail(kStepStart, fmt::format("a budget of {} bytes", budget));
    }
  }

  // Memory is had in pages: a part of one at an arena's end would not be mapped.
  void check_arena(std::size_t tier, Bytes bytes) {
    if (bytes >= 0 && bytes <= verify::kMostArena && bytes % verify::kPage == 0) return;
    fail(kStepStart, fmt::format("the arena of tier {} has {} bytes: not whole pages of {}, or beyond {}", tier, bytes,
                                 verify::kPage, verify::kMostArena));
  }

  void check_residency(std::size_t i) {
    const Residency& r = plan_.residencies[i];
    const auto error = [&](const std::string& what) { fail(r.ops.begin, fmt::format("residency {}: {}", i, what)); };
    if (r.tensor < 0 || r.tensor >= graph_.tensor_count()) return error(fmt::format("no tensor {}", r.tensor));
    if (!is_tier(r.tier)) error(fmt::format("no tier {}", r.tier));
    if (r.ops.begin < 0 || r.ops.empty() || r.ops.end > graph_.op_count()) {
      error(fmt::format("ops [{}, {}) are not within [0, {})", r.ops.begin, r.ops.end, graph_.op_count()));
    }
  }

  void check_offsets() {
    const std::vector<verify::Extent> extents = verify::extents(graph_, plan_);
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const Residency& r = plan_.residencies[i];
      const auto error = [&](const std::string& what) { fail(r.ops.begin, fmt::format("residency {}: {}", i, what)); };
      if (r.offset < 0 || r.offset % extents[i].alignment != 0) {
        error(fmt::format("offset {} is not a multiple of {}", r.offset, extents[i].alignment));
      }
      if (r.offset > std::numeric_limits<Bytes>::max() - extents[i].bytes) {
        error(fmt::format("offset {} is beyond any tier", r.offset));
      }
    }
    if (findings_.empty()) check_stitches(machine_, plan_, extents, findings_);
  }

  void check_op(graph::OpIndex index) {
    const graph::Op& op = graph_.op(index);
    const OpPlacement& placement = plan_.ops[as_index(index)];
    const auto error = [&](const std::string& what) {
      fail(index, fmt::format("op {} '{}': {}", index, op.name, what));
    };
    if (placement.operand_tiers.size() != op.inputs.size() + op.outputs.size()) {
      return error(fmt::format("{} operand tiers for {} operands", placement.operand_tiers.size(),
                               op.inputs.size() + op.outputs.size()));
    }
    for (const memory::TierId tier : placement.operand_tiers) {
      if (!is_tier(tier)) error(fmt::format("no tier {}", tier));
    }
    check_same_tier(op, placement, error);
  }

  // An op that names a tensor twice works on one copy of it.
  template <typename ReportError>
  void check_same_tier(const graph::Op& op, const OpPlacement& placement, const ReportError& error) {
    std::vector<graph::TensorId> operands = op.inputs;
    operands.insert(operands.end(), op.outputs.begin(), op.outputs.end());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto first = as_index(std::find(operands.begin(), operands.end(), operands[i]) - operands.begin());
      if (placement.operand_tiers[first] == placement.operand_tiers[i]) continue;
      error(fmt::format("operands {} and {} are both tensor {} '{}', in tiers {} and {}", first, i, operands[i],
                        graph_.tensor(operands[i]).name, placement.operand_tiers[first], placement.operand_tiers[i]));
    }
  }

  void check_migration(std::size_t i) {
    const Migration& m = plan_.migrations[i];
    const auto error = [&](const std::string& what) { fail(m.issue_after, fmt::format("migration {}: {}", i, what)); };
    if (i > 0 && m.issue_after < plan_.migrations[i - 1].issue_after) {
      error(fmt::format("issued after op {}, but listed behind one issued after op {}", m.issue_after,
                        plan_.migrations[i - 1].issue_after));
    }
    if (m.issue_after < kStepStart || m.issue_after >= m.needed_by || m.needed_by > graph_.op_count()) {
      return error(fmt::format("issue after {} and needed by {}: must be -1 <= issue_after < needed_by <= {}",
                               m.issue_after, m.needed_by, graph_.op_count()));
    }
    if (!is_residency(m.from) || !is_residency(m.to)) {
      return error(fmt::format("from {} to {}, and there are {} residencies", m.from, m.to, plan_.residencies.size()));
    }
    check_ends(m, error);
  }

  template <typename ReportError>
  void check_ends(const Migration& m, const ReportError& error) {
    const Residency& from = plan_.residencies[as_index(m.from)];
    const Residency& to = plan_.residencies[as_index(m.to)];
    if (from.tensor != m.tensor || to.tensor != m.tensor) {
      error(fmt::format("moves tensor {}, and its residencies hold {} and {}", m.tensor, from.tensor, to.tensor));
    }
    if (from.tier == to.tier) error(fmt::format("stays within tier {}", from.tier));
    if (to.ops.begin > m.issue_after + 1 || to.ops.end < m.needed_by) {
      error(fmt::format("its destination has room over ops [{}, {}), and the copy takes from {} to {}", to.ops.begin,
                        to.ops.end, m.issue_after + 1, m.needed_by));
    }
  }

  void check_one_residency_at_a_time() {
    std::vector<std::size_t> order(plan_.residencies.size());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](std::size_t i) {
      const Residency& r = plan_.residencies[i];
      return std::tuple(r.tensor, r.tier, r.ops.begin, i);
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    for (std::size_t i = 1; i < order.size(); ++i) {
      const Residency& previous = plan_.residencies[order[i - 1]];
      const Residency& next = plan_.residencies[order[i]];
      if (previous.tensor != next.tensor || previous.tier != next.tier || previous.ops.end <= next.ops.begin) continue;
      fail(next.ops.begin,
           fmt::format("residencies {} and {} both hold tensor {} '{}' in tier {} at op {}", order[i - 1], order[i],
                       next.tensor, graph_.tensor(next.tensor).name, next.tier, next.ops.begin));
    }
  }

  const graph::Graph& graph_;
  const memory::Machine& machine_;
  const Plan& plan_;
  Findings& findings_;
};

}  // namespace

void check_form(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan, Findings& findings) {
  FormCheck(graph, machine, plan, findings).run();
}

}  // namespace sluice::plan
