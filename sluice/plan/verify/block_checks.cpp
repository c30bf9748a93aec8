#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/verify/verifier_checks.hpp"

namespace sluice::plan {
namespace {

class BlockCheck {
 public:
  BlockCheck(const graph::Graph& graph, const Plan& plan, Findings& findings)
      : graph_(graph), plan_(plan), findings_(findings), taken_(plan.residencies.size(), false) {}

  void run() {
    for (index_ = 0; index_ < plan_.blocks.size(); ++index_) check(plan_.blocks[index_]);
  }

 private:
  void fail(graph::OpIndex op, const std::string& what) {
    findings_.add(Rule::kWellFormed, op, fmt::format("block {}: {}", index_, what));
  }

  void check(const Block& block) {
    if (block.members.size() < 2) return fail(kStepStart, fmt::format("{} members", block.members.size()));
    for (const ResidencyIndex member : block.members) {
      if (member < 0 || as_index(member) >= plan_.residencies.size()) {
        return fail(kStepStart, fmt::format("no residency {}", member));
      }
      if (taken_[as_index(member)]) fail(kStepStart, fmt::format("residency {} is in a block already", member));
      taken_[as_index(member)] = true;
    }
    check_places(block);
  }

  void check_places(const Block& block) {
    const Residency& first = plan_.residencies[as_index(block.members.front())];
    const std::vector<Bytes> distances = verify::member_distances(graph_, plan_, block);
    for (std::size_t i = 1; i < block.members.size(); ++i) {
      const Residency& r = plan_.residencies[as_index(block.members[i])];
      if (r.tier != first.tier || r.ops != first.ops) {
        fail(r.ops.begin, fmt::format("residency {} is in another tier, or there over other ops, than residency {}",
                                      block.members[i], block.members.front()));
      }
      if (r.offset < distances[i] || r.offset - distances[i] != first.offset) {
        fail(r.ops.begin, fmt::format("residency {} is at byte {}, and belongs {} bytes behind byte {}",
                                      block.members[i], r.offset, distances[i], first.offset));
      }
    }
  }

  const graph::Graph& graph_;
  const Plan& plan_;
  Findings& findings_;
  std::vector<bool> taken_;  // by ResidencyIndex
  std::size_t index_ = 0;
};

class BlockMigrationCheck {
 public:
  BlockMigrationCheck(const Plan& plan, Findings& findings)
      : plan_(plan), findings_(findings), block_of_(plan.residencies.size(), -1) {
    for (std::size_t block = 0; block < plan.blocks.size(); ++block) {
      for (const ResidencyIndex member : plan.blocks[block].members) {
        block_of_[as_index(member)] = as_id<std::int32_t>(block);
      }
    }
  }

  void run() {
    for (std::size_t i = 0; i < plan_.migrations.size();) {
      const Migration& m = plan_.migrations[i];
      const std::int32_t from = block_of_[as_index(m.from)];
      const std::int32_t to = block_of_[as_index(m.to)];
      if (from < 0 && to < 0) {
        ++i;
        continue;
      }
      if (from < 0 || to < 0 || !is_run(i, plan_.blocks[as_index(from)], plan_.blocks[as_index(to)])) {
        return fail(i, m);
      }
      i += plan_.blocks[as_index(from)].members.size();
    }
  }

 private:
  bool is_run(std::size_t begin, const Block& from, const Block& to) const {
    const std::size_t size = from.members.size();
    if (to.members.size() != size || begin + size > plan_.migrations.size()) return false;
    for (std::size_t i = 0; i < size; ++i) {
      const Migration& m = plan_.migrations[begin + i];
      const Migration& first = plan_.migrations[begin];
      const bool same_times = m.issue_after == first.issue_after && m.needed_by == first.needed_by;
      if (m.from != from.members[i] || m.to != to.members[i] || !same_times) return false;
    }
    return true;
  }

  void fail(std::size_t index, const Migration& m) {
    findings_.add(
        Rule::kWellFormed, m.issue_after,
        fmt::format("migration {}: it begins or ends in a block, and is not the first of a run that moves all "
                    "members of one block, in order and at the same time, to those of another",
                    index));
  }

  const Plan& plan_;
  Findings& findings_;
  std::vector<std::int32_t> block_of_;  // by ResidencyIndex: -1 for none
};

}  // namespace

void check_blocks(const graph::Graph& graph, const Plan& plan, Findings& findings) {
  BlockCheck(graph, plan, findings).run();
}

void check_block_migrations(const Plan& plan, Findings& findings) { BlockMigrationCheck(plan, findings).run(); }

}  // namespace sluice::plan
