// Durations for planning and simulating: op times from the profile, transfer times from the machine's links.
//
// An op with operands in slow tiers takes as long as memory_time.hpp says; executors delay ops by the same rule for
// emulated tiers. Where the profile has the op's measured configuration (placement.hpp), that is taken instead. In an
// emulated tier, whose data lie in DRAM, the measurement stands for the time in fast memory, and the rule is applied to
// it.
//
// So on emulated tiers prediction and run share the rule, and their agreement says nothing about it. There a comparison
// of the two checks order, overlap, copies and the times in fast memory, which the run has measured anew.
#pragma once

#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/profile/cache_model.hpp"
#include "sluice/profile/memory_time.hpp"
#include "sluice/profile/profile.hpp"

namespace sluice::profile {

// However many bytes go by, an op gets this share of the time.
inline constexpr double kLeastComputeSpeed = 0.05;

// What the executor emulates for op `op`, whose operands are where `operand_tiers` (inputs then outputs, as in Plan)
// says: the waits for emulated tiers. A tier of real memory adds nothing: it is as slow as it is.
MemorySeconds emulated_seconds(const graph::Graph& graph, const memory::Machine& machine, const OpTraffic& traffic,
                               graph::OpIndex op, std::span<const memory::TierId> operand_tiers);

// What a transfer carries.
struct Load {
  graph::TensorId tensor = 0;
  Bytes bytes = 0;       // as they are
  bool encoded = false;  // at the link's slow end: fewer bytes move, and the lane's thread packs or unpacks them
};

class CostModel {
 public:
  // `graph` and `machine` must outlive the model; `profile` must have one time per op of `graph`.
  CostModel(const graph::Graph& graph, const Profile& profile, const memory::Machine& machine);

  // The same graph's with other times, and links of other speeds: a tenth of the work, as the traffic stays what it is.
  CostModel with(const Profile& profile, const memory::Machine& machine) const;

  // Op time with every operand in the fast tier.
  Seconds op_seconds(graph::OpIndex op) const { return op_seconds_[as_index(op)]; }

  // Of all ops, one after the other.
  Seconds compute_seconds() const { return std::accumulate(op_seconds_.begin(), op_seconds_.end(), Seconds{0}); }

  // Op time with operands where `operand_tiers` says; never less than in the fast tier.
  Seconds op_seconds(graph::OpIndex op, std::span<const memory::TierId> operand_tiers) const;

  const OpTraffic& traffic() const { return *traffic_; }

  // Whether measurements say what the op takes with operands in that tier, instead of memory_time.hpp.
  bool is_measured(graph::OpIndex op, memory::TierId tier) const;

  Seconds transfer_seconds(memory::LinkId link, Bytes bytes) const;  // while the link has its device to itself

  // What packing or unpacking takes is added in full: chunks are under way meanwhile, but it is taken from the compute
  // threads.
  Seconds transfer_seconds(memory::LinkId link, const Load& load) const;

  // What the link really moves of it. As it is where the profile does not know better.
  Bytes moved_bytes(const Load& load) const;

  // Whether encoding the tensor on its way there and back saves more time of the links than it takes of the processor.
  // Never where the profile has no figures, nor on a link that is faster than the encoder.
  bool worth_encoding(memory::LinkId outward, memory::LinkId inward, graph::TensorId tensor, Bytes bytes) const;

  // The link back, if the two slow each other down while both are busy (Link::shared_bandwidth), and the share of its
  // own speed at which `link` then goes: above 0, at most 1.
  std::optional<memory::LinkId> shares_with(memory::LinkId link) const;
  double shared_speed(memory::LinkId link) const;

  // Compute time lost while the link carries data, per second of its time at full speed (Link::interference x
  // bandwidth).
  double interference(memory::LinkId link) const;
  // The same while it carries this: each request takes its part, and packing and unpacking are lost in full.
  double interference(memory::LinkId link, const Load& load) const;

 private:
  CostModel(const graph::Graph& graph, const Profile& profile, const memory::Machine& machine,
            std::shared_ptr<const OpTraffic> traffic);

  // Nothing where the op was not measured.
  const OpConfigurations* configurations(graph::OpIndex op, memory::TierId tier) const;

  // How much longer op `op` was measured to take because of its operands in slow tier `tier`; nothing if it was not
  // measured.
  std::optional<Seconds> measured_extra(memory::TierId tier, graph::OpIndex op,
                                        std::span<const memory::TierId> operand_tiers) const;

  Seconds request_seconds(memory::LinkId link, Bytes bytes) const;  // of compute, for all requests of a transfer

  // The processor's part of a transfer.
  Seconds coding_seconds(memory::LinkId link, const Load& load) const;

  const graph::Graph& graph_;
  const memory::Machine& machine_;
  std::shared_ptr<const EncodingFigures> encodings_;
  std::shared_ptr<const OpTraffic> traffic_;
  std::vector<Seconds> op_seconds_;
  std::vector<std::shared_ptr<const PlacementTimes>> placements_;  // by TierId, nullptr where nothing was measured
};

}  // namespace sluice::profile
