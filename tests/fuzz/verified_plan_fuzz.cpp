// Random plans, changed by what the input says: fields to other values, entries taken out, doubled and swapped.
#include <memory>

#include "sluice/base/as_index.hpp"
#include "sluice/testing/random/random_graph.hpp"
#include "sluice/testing/random/random_plan.hpp"
#include "sluice/testing/random/random_schedule.hpp"
#include "sluice/testing/random/random_step.hpp"
#include "tests/fuzz/accepted_plan.hpp"
#include "tests/fuzz/fuzz_targets.hpp"

namespace sluice::tests {
namespace {

struct SoundPlan {
  explicit SoundPlan(std::uint64_t seed)
      : graph(testing::random_graph(seed, {.most_layers = 1 + static_cast<int>(seed % 3), .most_bytes = 9000})),
        machine(testing::random_machine(seed)) {
    if (seed % 3 == 0) {
      plan = testing::random_plan(seed, graph, machine);
      return;
    }
    testing::add_random_processors(seed, machine);
    const auto order = seed % 3 == 1 ? std::vector<graph::OpIndex>() : testing::random_schedule(graph, seed);
    plan = testing::random_plan_of_step(seed, graph, machine, testing::random_step(seed, graph, machine, order));
  }

  graph::Graph graph;
  memory::Machine machine;
  plan::Plan plan;
};

const SoundPlan& sound_plan(std::size_t seed) {
  static std::vector<std::unique_ptr<SoundPlan>> known(512);
  std::unique_ptr<SoundPlan>& found = known[seed % known.size()];
  if (!found) found = std::make_unique<SoundPlan>(seed % known.size());
  return *found;
}

// The input as a row of numbers; zeros behind its end.
class Draw {
 public:
  explicit Draw(std::string_view input) : input_(input) {}

  bool empty() const { return input_.empty(); }
  std::uint8_t byte() {
    if (input_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(input_.front());
    input_.remove_prefix(1);
    return value;
  }
  std::int32_t word() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8U | byte();
    return static_cast<std::int32_t>(value);
  }
  std::size_t below(std::size_t count) { return count == 0 ? 0 : (std::size_t{byte()} << 8U | byte()) % count; }

 private:
  std::string_view input_;
};

template <typename T>
void change_number(T& number, Draw& draw) {
  const auto step = static_cast<std::int8_t>(draw.byte());
  const auto wrapped = static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
  const auto add = [&](std::int64_t by) { number = static_cast<T>(wrapped + static_cast<std::uint64_t>(by)); };
  switch (draw.byte() % 7) {
    case 0:
      return add(1);
    case 1:
      return add(-1);
    case 2:
      return add(std::int64_t{step} * 64);
    case 3:
      return add(std::int64_t{step} * 4096);
    case 4:
      number = static_cast<T>(step & 15);
      return;
    case 5:
      number = static_cast<T>(draw.word());
      return;
    default:
      number = static_cast<T>(static_cast<std::uint64_t>(draw.word()) << (draw.byte() % 32U));
  }
}

// Takes an entry out, doubles it, or swaps two.
template <typename List>
void change_list(List& list, Draw& draw) {
  if (list.empty()) return;
  const std::size_t at = draw.below(list.size());
  const std::size_t other = draw.below(list.size());
  switch (draw.byte() % 3) {
    case 0:
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1: {
      auto copy = list[at];
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(other), std::move(copy));
      break;
    }
    default:
      std::swap(list[at], list[other]);
  }
}

void change_residency(plan::Residency& r, Draw& draw) {
  switch (draw.byte() % 6) {
    case 0:
      return change_number(r.tensor, draw);
    case 1:
      return change_number(r.tier, draw);
    case 2:
      return change_number(r.offset, draw);
    case 3:
      return change_number(r.ops.begin, draw);
    case 4:
      return change_number(r.ops.end, draw);
    default:
      r.encoding = static_cast<memory::Encoding>(draw.byte() % 3);
  }
}

void change_migration(plan::Migration& m, Draw& draw) {
  switch (draw.byte() % 5) {
    case 0:
      return change_number(m.tensor, draw);
    case 1:
      return change_number(m.from, draw);
    case 2:
      return change_number(m.to, draw);
    case 3:
      return change_number(m.issue_after, draw);
    default:
      return change_number(m.needed_by, draw);
  }
}

void change_op(plan::OpPlacement& op, Draw& draw) {
  switch (draw.byte() % 4) {
    case 0:
      return change_number(op.implementation, draw);
    case 1:
      return change_number(op.processor, draw);
    case 2:
      return change_list(op.operand_tiers, draw);
    default:
      if (!op.operand_tiers.empty()) change_number(op.operand_tiers[draw.below(op.operand_tiers.size())], draw);
  }
}

void change_stitches(std::vector<memory::Stitch>& stitches, Draw& draw) {
  if (stitches.empty()) {
    stitches.push_back({draw.word() * Bytes{4096}, {{0, 4096}}});
    return;
  }
  memory::Stitch& stitch = stitches[draw.below(stitches.size())];
  switch (draw.byte() % 5) {
    case 0:
      return change_number(stitch.address, draw);
    case 1:
      return change_list(stitch.memory, draw);
    case 2:
      if (!stitch.memory.empty()) change_number(stitch.memory[draw.below(stitch.memory.size())].begin, draw);
      return;
    case 3:
      if (!stitch.memory.empty()) change_number(stitch.memory[draw.below(stitch.memory.size())].end, draw);
      return;
    default:
      return change_list(stitches, draw);
  }
}

void change_blocks(std::vector<plan::Block>& blocks, Draw& draw) {
  if (blocks.empty()) {
    blocks.push_back(
        {{static_cast<plan::ResidencyIndex>(draw.byte()), static_cast<plan::ResidencyIndex>(draw.byte())}});
    return;
  }
  plan::Block& block = blocks[draw.below(blocks.size())];
  if (draw.byte() % 2 == 0) return change_list(blocks, draw);
  if (draw.byte() % 2 == 0) return change_list(block.members, draw);
  if (!block.members.empty()) change_number(block.members[draw.below(block.members.size())], draw);
}

void change_room(plan::Plan& plan, Draw& draw) {
  const std::size_t tier = draw.below(plan.arena_bytes.size());
  if (tier >= plan.arena_bytes.size() || tier >= plan.budgets.size()) return;
  switch (draw.byte() % 4) {
    case 0:
      return change_number(plan.arena_bytes[tier], draw);
    case 1:
      return change_number(plan.budgets[tier], draw);
    case 2:
      return change_list(plan.arena_bytes, draw);
    default:  // more of both, so that what has moved may be right where it is
      for (std::vector<Bytes>* list : {&plan.arena_bytes, &plan.budgets}) {
        for (Bytes& bytes : *list) bytes += Bytes{4096} * (draw.byte() % 4);
      }
  }
}

void change(plan::Plan& plan, Draw& draw) {
  switch (draw.byte() % 10) {
    case 0:
    case 1:
      if (!plan.residencies.empty()) change_residency(plan.residencies[draw.below(plan.residencies.size())], draw);
      return;
    case 2:
    case 3:
      if (!plan.migrations.empty()) change_migration(plan.migrations[draw.below(plan.migrations.size())], draw);
      return;
    case 4:
      if (!plan.ops.empty()) change_op(plan.ops[draw.below(plan.ops.size())], draw);
      return;
    case 5:
      return change_stitches(plan.stitches, draw);
    case 6:
      return change_blocks(plan.blocks, draw);
    case 7:
      return change_room(plan, draw);
    case 8:
      if (draw.byte() % 2 == 0) return change_list(plan.schedule, draw);
      if (!plan.schedule.empty()) change_number(plan.schedule[draw.below(plan.schedule.size())], draw);
      return;
    default:
      return draw.byte() % 2 == 0 ? change_list(plan.residencies, draw) : change_list(plan.migrations, draw);
  }
}

}  // namespace

void fuzz_verified_plan(std::string_view input) {
  Draw draw(input);
  const SoundPlan& sound = sound_plan(draw.below(512));
  plan::Plan plan = sound.plan;
  for (int changes = 0; changes < 16 && !draw.empty(); ++changes) change(plan, draw);
  verify_and_run(sound.graph, sound.machine, plan);
}

}  // namespace sluice::tests
