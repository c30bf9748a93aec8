#include "sluice/testing/random/random_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/plan/own_encoding.hpp"
#include "sluice/plan/plan_builder.hpp"
#include "sluice/plan/rooms.hpp"
#include "sluice/testing/random/seeded_random.hpp"

namespace sluice::testing {
namespace {

constexpr Bytes kPlenty = Bytes{1} << 40;

class TensorPlacer {
 public:
  TensorPlacer(SeededRandom& random, const graph::Graph& graph, const memory::Machine& machine,
               plan::PlanBuilder& builder, graph::TensorId tensor)
      : random_(random),
        machine_(machine),
        builder_(builder),
        tensor_(tensor),
        role_(graph.tensor(tensor).role),
        op_count_(graph.op_count()),
        copies_(machine.tiers.size()),
        last_end_(machine.tiers.size(), 0) {}

  void run(const std::vector<graph::Use>& uses) {
    if (graph::is_persistent(role_)) begin_step();
    for (std::size_t i = 0; i < uses.size(); ++i) {
      next_write_ = op_count_;
      for (std::size_t j = uses.size(); j-- > i;) {
        if (uses[j].writes) next_write_ = uses[j].op;
      }
      act_before(uses[i].op);
      use(uses[i]);
    }
    next_write_ = op_count_;
    if (uses.empty() && !graph::is_persistent(role_)) return;
    act_before(op_count_);
    end_step();
  }

 private:
  // The open residency in one tier; its end is decided when it is closed.
  struct Copy {
    plan::ResidencyIndex residency = 0;
    graph::OpIndex begin = 0;
    graph::OpIndex valid_from = 0;
    graph::OpIndex keep_until = 0;  // earliest end that what was decided so far allows
    bool valid = false;
  };

  std::optional<Copy>& copy(memory::TierId tier) { return copies_[as_index(tier)]; }
  graph::OpIndex& last_end(memory::TierId tier) { return last_end_[as_index(tier)]; }
  // A persistent tensor may not be brought back to its place at the moment it leaves it: see plan_builder.hpp.
  graph::OpIndex pause(memory::TierId tier) const { return tier == start_tier_ ? 1 : 0; }
  memory::TierId random_tier() {
    return random_.between<memory::TierId>(0, as_id<memory::TierId>(machine_.tiers.size()) - 1);
  }
  bool is_valid(memory::TierId tier, graph::OpIndex by) {
    return copy(tier) && copy(tier)->valid && copy(tier)->valid_from <= by;
  }

  void open(memory::TierId tier, graph::OpIndex begin) {
    const plan::ResidencyIndex residency = builder_.add_residency(tensor_, tier, {begin, begin + 1});
    copy(tier) = Copy{residency, begin, begin, begin + 1, false};
  }

  void close(memory::TierId tier, graph::OpIndex end) {
    builder_.set_residency_ops(copy(tier)->residency, {copy(tier)->begin, end});
    last_end(tier) = end + pause(tier);
    copy(tier).reset();
  }

  void begin_step() {
    start_tier_ = random_tier();
    open(start_tier_, 0);
    copy(start_tier_)->valid = true;
  }

  void act_before(graph::OpIndex op) {
    for (int actions = random_.between(0, 3); actions > 0; --actions) {
      const memory::TierId tier = random_tier();
      if (!copy(tier) || !copy(tier)->valid) {
        copy_before(tier, op);
      } else {
        drop_before(tier, op);
      }
    }
    for (memory::TierId tier = 0; tier < as_id<memory::TierId>(copies_.size()); ++tier) {
      if (copy(tier) && !copy(tier)->valid && random_.chance(0.5)) drop_before(tier, op);
    }
  }

  // A copy that ops cannot read may take until the tensor is written; others must be there for the next use.
  void copy_before(memory::TierId to, graph::OpIndex op) {
    const memory::TierId from = random_tier();
    if (from == to || !is_valid(from, op) || !machine_.link_between(from, to)) return;
    const graph::OpIndex latest = machine_.tier(to).addressable ? op : random_.between(op, next_write_);
    if (last_end(to) < latest && last_end(to) < op_count_) migrate(from, to, latest);
  }

  void drop_before(memory::TierId tier, graph::OpIndex op) {
    const graph::OpIndex latest = std::min(op, op_count_ - 1) - pause(tier);
    if (copy(tier)->keep_until > latest || tier == pinned_tier_) return;
    const graph::OpIndex end = random_.between(copy(tier)->keep_until, latest);
    bool survives = !copy(tier)->valid;
    for (memory::TierId other = 0; other < as_id<memory::TierId>(copies_.size()); ++other) {
      survives = survives || (other != tier && is_valid(other, end));
    }
    if (survives) close(tier, end);
  }

  void migrate(memory::TierId from, memory::TierId to, graph::OpIndex latest) {
    const graph::OpIndex room_free = copy(to) ? 0 : last_end(to);
    const graph::OpIndex earliest = std::max(copy(from)->valid_from, room_free) - 1;
    const graph::OpIndex issue_after = random_.between(earliest, latest - 1);
    const graph::OpIndex needed_by = random_.chance(0.3) ? issue_after + 1 : random_.between(issue_after + 1, latest);
    if (!copy(to)) {
      const graph::OpIndex begin = std::min(issue_after + 1, op_count_ - 1);
      const graph::OpIndex first =
          std::max(room_free, issue_after == plan::kStepStart || !graph::is_persistent(role_) ? 0 : 1);
      open(to, random_.chance(0.2) && first < begin ? random_.between(first, begin) : begin);
    }
    builder_.add_migration(tensor_, copy(from)->residency, copy(to)->residency, issue_after, needed_by);
    copy(from)->keep_until = std::max(copy(from)->keep_until, needed_by);
    copy(to)->keep_until = std::max(copy(to)->keep_until, needed_by);
    copy(to)->valid_from = needed_by;
    copy(to)->valid = true;
  }

  void make_valid(memory::TierId tier, graph::OpIndex by) {
    if (is_valid(tier, by)) return;
    for (memory::TierId from = 0; from < as_id<memory::TierId>(copies_.size()); ++from) {
      if (is_valid(from, by) && machine_.link_between(from, tier)) return migrate(from, tier, by);
    }
    make_valid(memory::kFastTier, by);  // every slow tier is linked to the fast one
    migrate(memory::kFastTier, tier, by);
  }

  void use(const graph::Use& use) {
    memory::TierId tier = memory::kFastTier;
    if (const memory::TierId other = random_tier(); machine_.tier(other).addressable) tier = other;
    if (use.reads) {
      make_valid(tier, use.op);
    } else if (!copy(tier)) {
      open(tier, random_.between(std::max(last_end(tier), use.op - 2), use.op));
    }
    builder_.set_tensor_tier(use.op, tensor_, tier);
    copy(tier)->keep_until = std::max(copy(tier)->keep_until, use.op + 1);
    if (use.writes) written_at(use.op, tier);
  }

  void written_at(graph::OpIndex op, memory::TierId tier) {
    for (std::optional<Copy>& other : copies_) {
      if (other) other->valid = false;
    }
    copy(tier)->valid = true;
    copy(tier)->valid_from = op + 1;
    if (role_ == graph::Role::kOutput) pinned_tier_ = tier;
  }

  void end_step() {
    if (graph::is_persistent(role_)) {
      make_valid(start_tier_, op_count_);
      pinned_tier_ = start_tier_;
    }
    for (memory::TierId tier = 0; tier < as_id<memory::TierId>(copies_.size()); ++tier) {
      if (!copy(tier)) continue;
      const graph::OpIndex earliest = copy(tier)->keep_until;
      close(tier, tier == pinned_tier_ ? op_count_ : random_.between(earliest, std::min(earliest + 3, op_count_)));
    }
  }

  SeededRandom& random_;
  const memory::Machine& machine_;
  plan::PlanBuilder& builder_;
  graph::TensorId tensor_;
  graph::Role role_;
  graph::OpIndex op_count_;
  std::vector<std::optional<Copy>> copies_;  // by TierId
  std::vector<graph::OpIndex> last_end_;     // by TierId: of the residencies closed
  graph::OpIndex next_write_ = 0;            // at or after the next use
  memory::TierId start_tier_ = -1;           // of a persistent tensor
  memory::TierId pinned_tier_ = -1;          // must keep its copy until the step ends
};

memory::Tier make_tier(const char* name, memory::TierKind kind, BytesPerSecond bandwidth) {
  memory::Tier tier;
  tier.name = name;
  tier.kind = kind;
  tier.capacity = kPlenty;
  tier.read_bandwidth = tier.write_bandwidth = bandwidth;
  tier.addressable = !kind->in_file;
  return tier;
}

void join(memory::Machine& machine, memory::TierId a, memory::TierId b, BytesPerSecond bandwidth) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    memory::Link link;
    link.from = from;
    link.to = to;
    link.bandwidth = bandwidth;
    link.latency = 1e-6;
    machine.links.push_back(link);
  }
}

// What may lie encoded: in a slow tier, where no op uses it and no step begins, and joined with tier 0 only.
std::vector<plan::ResidencyIndex> may_be_encoded(const graph::Graph& graph, const plan::Plan& plan) {
  std::vector<bool> may(plan.residencies.size());
  for (std::size_t i = 0; i < may.size(); ++i) {
    const plan::Residency& r = plan.residencies[i];
    may[i] = r.tier != memory::kFastTier && !graph::is_persistent(graph.tensor(r.tensor).role);
    for (graph::OpIndex op = r.ops.begin; op < r.ops.end && may[i]; ++op) {
      const auto& tiers = plan.ops[as_index(op)].operand_tiers;
      std::vector<graph::TensorId> operands = graph.op(op).inputs;
      operands.insert(operands.end(), graph.op(op).outputs.begin(), graph.op(op).outputs.end());
      for (std::size_t k = 0; k < operands.size(); ++k)
        may[i] = may[i] && !(operands[k] == r.tensor && tiers[k] == r.tier);
    }
  }
  for (const plan::Migration& m : plan.migrations) {
    const bool with_fast =
        plan.residencies[m.from].tier == memory::kFastTier || plan.residencies[m.to].tier == memory::kFastTier;
    if (!with_fast) may[as_index(m.from)] = may[as_index(m.to)] = false;
  }
  std::vector<plan::ResidencyIndex> found;
  for (std::size_t i = 0; i < may.size(); ++i) {
    if (may[i]) found.push_back(as_id<plan::ResidencyIndex>(i));
  }
  return found;
}

void encode_some(SeededRandom& random, const graph::Graph& graph, plan::Plan& plan) {
  for (const plan::ResidencyIndex i : may_be_encoded(graph, plan)) {
    if (random.chance(0.5)) plan.residencies[i].encoding = plan::own_encoding(graph.tensor(plan.residencies[i].tensor));
  }
  plan.arena_bytes[as_index(memory::kFastTier)] += plan::staging_bytes(plan);
}

// The same plan in an arena whose pages somebody has shuffled: what is no longer in one piece is stitched.
class PageShuffle {
 public:
  PageShuffle(SeededRandom& random, const graph::Graph& graph, plan::Plan& plan)
      : graph_(graph),
        plan_(plan),
        next_address_(plan.arena_bytes.front() + memory::kBlockAlignment * random.between(0, 2)) {
    const Bytes pages = (plan.arena_bytes.front() - plan::staging_bytes(plan)) / memory::kBlockAlignment;
    for (Bytes page = 0; page < pages; ++page) page_of_.push_back(page);
    for (Bytes swaps = random.between<Bytes>(0, pages); swaps > 0; --swaps) {
      std::swap(page_of_[random.between<std::size_t>(0, page_of_.size() - 1)],
                page_of_[random.between<std::size_t>(0, page_of_.size() - 1)]);
    }
  }

  void run() {
    const std::vector<plan::Room> rooms = plan::residency_rooms(graph_, plan_);
    const std::vector<plan::BlockPlace> places = plan::block_places(plan_);
    for (std::size_t i = 0; i < rooms.size(); ++i) {
      plan::Residency& r = plan_.residencies[i];
      if (r.tier != memory::kFastTier || rooms[i].bytes == 0 || places[i].block >= 0) continue;
      r.offset = moved({r.offset, r.offset + rooms[i].bytes});
    }
    for (const plan::Block& block : plan_.blocks) {
      const plan::Residency& first = plan_.residencies[block.members.front()];
      if (first.tier != memory::kFastTier) continue;
      const std::vector<Bytes> distances = plan::block_offsets(graph_, plan_, block);
      const Bytes address = moved({first.offset, first.offset + distances.back()});
      for (std::size_t i = 0; i < block.members.size(); ++i) {
        plan_.residencies[block.members[i]].offset = address + distances[i];
      }
    }
  }

 private:
  // The address of what was there. Equal bytes have equal addresses, so that cycles stay closed.
  Bytes moved(Interval<Bytes> bytes) {
    const auto [known, is_new] = addresses_.try_emplace(bytes, 0);
    if (!is_new) return known->second;
    const Bytes first = bytes.begin / memory::kBlockAlignment;
    std::vector<Interval<Bytes>> memory;
    for (Bytes page = first; page * memory::kBlockAlignment < bytes.end; ++page) {
      const Bytes begin = page_of_[as_index(page)] * memory::kBlockAlignment;
      if (memory.empty() || memory.back().end != begin) memory.push_back({begin, begin});
      memory.back().end += memory::kBlockAlignment;
    }
    Bytes address = memory.front().begin;
    if (memory.size() > 1) {
      address = next_address_;
      plan_.stitches.push_back({address, std::move(memory)});
      next_address_ = memory::stitch_end(plan_.stitches.back());
    }
    return known->second = address + bytes.begin - first * memory::kBlockAlignment;
  }

  const graph::Graph& graph_;
  plan::Plan& plan_;
  Bytes next_address_;
  std::vector<Bytes> page_of_;
  std::map<Interval<Bytes>, Bytes> addresses_;
};

}  // namespace

memory::Machine random_machine(std::uint64_t seed) {
  SeededRandom random(seed);
  memory::Machine machine;
  machine.cpu = "test";
  machine.tiers = {make_tier("dram", memory::TierKind::kDram, 40e9)};
  const int shape = random.between(0, 3);
  if (shape != 0) {
    machine.tiers.push_back(make_tier("slow", memory::TierKind::kEmulated, 5e9));
    join(machine, 0, 1, 4e9);
  }
  if (shape != 1) {
    machine.tiers.push_back(make_tier("file", memory::TierKind::kFile, 2e9));
    const auto file = as_id<memory::TierId>(machine.tiers.size()) - 1;
    join(machine, 0, file, 2e9);
    if (shape == 3) join(machine, 1, file, 2e9);
  }
  return machine;
}

plan::Plan random_plan(std::uint64_t seed, const graph::Graph& graph, const memory::Machine& machine) {
  SeededRandom random(seed);
  plan::PlanBuilder builder(graph, machine);
  const graph::Liveness liveness = graph::analyze_liveness(graph);
  for (graph::TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    TensorPlacer(random, graph, machine, builder, tensor).run(liveness.uses[as_index(tensor)]);
  }
  plan::Plan plan = builder.finish(std::vector<Bytes>(machine.tiers.size(), kPlenty)).value();
  const bool on_gpu = !machine.tier(memory::kFastTier).kind->host_reaches;
  if (!on_gpu) encode_some(random, graph, plan);
  if (!on_gpu && plan.arena_bytes.front() > staging_bytes(plan) && random.chance(0.5))
    PageShuffle(random, graph, plan).run();
  plan.planner = "random";
  plan.budgets = plan.arena_bytes;
  return plan;
}

}  // namespace sluice::testing
