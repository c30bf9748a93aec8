#include "benchmarks/papers/published_profile.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "sluice/graph/liveness.hpp"

namespace sluice::benchmarks::autotm {
namespace {

constexpr std::size_t kMostOfEveryPlacement = 6;  // operands
constexpr memory::TierId kOptane = 1;

// One op, priced.
class OpPrices {
 public:
  OpPrices(const graph::Graph& graph, graph::OpIndex index, const KernelTable& table)
      : op_(graph.op(index)), table_(table), operands_(graph::distinct_operands(op_)) {
    for (KernelPart& part : parts_of(graph, op_)) add(std::move(part));
    if (parts_.empty()) {
      add(everything(graph));
    } else {
      rest_ = unused(graph);
    }
  }

  profile::OpConfigurations configurations() const {
    profile::OpConfigurations configurations;
    for (const profile::OperandSet slow : sets()) {
      const Seconds seconds = seconds_with(slow);
      configurations.push_back({slow, {.median = seconds, .min = seconds, .max = seconds, .samples = 1}});
    }
    return configurations;
  }

  Coverage coverage() const {
    Coverage found{.ops = 1};
    for (const Part& part : parts_) {
      const Seconds seconds = part.timed.kernel.placements.front().seconds;
      found.seconds += seconds;
      if (part.timed.origin == Origin::kScaled) found.scaled_seconds += seconds;
      if (part.timed.origin == Origin::kGuessed) found.guessed_seconds += seconds;
      if (part.timed.origin != Origin::kPublished) found.unmatched_ops = 1;
    }
    for (const profile::OperandSet slow : sets()) {
      ++found.placements;
      found.published_placements += is_published_with(slow) ? 1 : 0;
    }
    return found;
  }

 private:
  struct Part {
    KernelPart part;
    TimedKernel timed;
  };

  void add(KernelPart part) {
    TimedKernel timed = table_.find(part);
    parts_.push_back({std::move(part), std::move(timed)});
  }

  KernelPart everything(const graph::Graph& graph) const {
    KernelPart part;
    for (const graph::TensorId id : op_.inputs) part.inputs.push_back({id, graph.tensor(id).shape});
    for (const graph::TensorId id : op_.outputs) part.outputs.push_back({id, graph.tensor(id).shape});
    return part;
  }

  bool is_used(graph::TensorId id) const {
    return std::ranges::any_of(parts_, [&](const Part& each) {
      return std::ranges::find(each.part.inputs, id, &PartOperand::tensor) != each.part.inputs.end() ||
             std::ranges::find(each.part.outputs, id, &PartOperand::tensor) != each.part.outputs.end();
    });
  }

  // What no part uses, as a kernel that takes no time but for memory.
  Part unused(const graph::Graph& graph) const {
    Part rest{everything(graph), {}};
    const auto used = [&](const PartOperand& each) { return is_used(each.tensor); };
    std::erase_if(rest.part.inputs, used);
    std::erase_if(rest.part.outputs, used);
    for (const PartOperand& each : rest.part.inputs)
      rest.timed.kernel.inputs.push_back(graph.tensor(each.tensor).bytes);
    for (const PartOperand& each : rest.part.outputs) {
      rest.timed.kernel.outputs.push_back(graph.tensor(each.tensor).bytes);
    }
    rest.timed.kernel.placements.push_back({std::string(rest.part.inputs.size() + rest.part.outputs.size(), 'D'), 0});
    return rest;
  }

  std::vector<profile::OperandSet> sets() const {
    if (operands_.size() > kMostOfEveryPlacement) return profile::configurations_to_measure(op_);
    std::vector<profile::OperandSet> all;
    for (profile::OperandSet set = 0; set < profile::OperandSet{1} << operands_.size(); ++set) all.push_back(set);
    return all;
  }

  std::string locations(const KernelPart& part, profile::OperandSet slow) const {
    std::string letters;
    for (const auto* side : {&part.inputs, &part.outputs}) {
      for (const PartOperand& each : *side) {
        const auto place = std::ranges::find(operands_, each.tensor) - operands_.begin();
        const bool is_slow = each.tensor != kInside && (slow >> place & 1) != 0;
        letters += is_slow ? 'P' : 'D';
      }
    }
    return letters;
  }

  Seconds seconds_with(profile::OperandSet slow) const {
    Seconds sum = 0;
    for (const Part& each : parts_) sum += table_.seconds(each.timed.kernel, locations(each.part, slow));
    if (rest_) sum += table_.seconds(rest_->timed.kernel, locations(rest_->part, slow));
    return sum;
  }

  bool is_published_with(profile::OperandSet slow) const {
    return std::ranges::all_of(parts_, [&](const Part& each) {
      return each.timed.origin == Origin::kPublished && is_published(each.timed.kernel, locations(each.part, slow));
    });
  }

  const graph::Op& op_;
  const KernelTable& table_;
  std::vector<graph::TensorId> operands_;
  std::vector<Part> parts_;
  std::optional<Part> rest_;
};

}  // namespace

Coverage& Coverage::operator+=(const Coverage& other) {
  ops += other.ops;
  unmatched_ops += other.unmatched_ops;
  seconds += other.seconds;
  scaled_seconds += other.scaled_seconds;
  guessed_seconds += other.guessed_seconds;
  placements += other.placements;
  published_placements += other.published_placements;
  return *this;
}

memory::Machine published_machine() {
  memory::Machine machine = autotm_machine();
  machine.tiers[memory::kFastTier].capacity = 6 * 32 * kGiB;
  memory::Tier& optane = machine.tiers[kOptane];
  optane.kind = memory::TierKind::kNuma;
  optane.capacity = 6 * 128 * kGiB;
  optane.provenance = memory::Provenance::kGiven;
  for (memory::Link& link : machine.links) {
    link.interference = 1 / link.bandwidth;
    link.throttled = false;
    link.provenance = memory::Provenance::kGiven;
  }
  return machine;
}

PublishedProfile published_profile(const graph::Graph& graph, const memory::Machine& machine,
                                   const KernelTable& table) {
  PublishedProfile made;
  profile::Profile& profile = made.profile;
  profile.graph_fingerprint = graph.fingerprint();
  profile.compute_fingerprint = machine.compute_fingerprint();
  profile.provenance = memory::Provenance::kGiven;
  auto placements = std::make_shared<profile::PlacementTimes>();
  placements->tier = profile::tier_key(machine.tier(kOptane));
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    const OpPrices prices(graph, index, table);
    profile::OpConfigurations configurations = prices.configurations();
    made.coverage[graph.op(index).kind] += prices.coverage();
    profile.op_seconds.push_back(prices.coverage().seconds);
    placements->index.push_back(configurations.empty() ? -1 : static_cast<std::int32_t>(placements->distinct.size()));
    if (!configurations.empty()) placements->distinct.push_back(std::move(configurations));
  }
  profile.placements.push_back(std::move(placements));
  return made;
}

}  // namespace sluice::benchmarks::autotm
