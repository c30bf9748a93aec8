#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/plan/verify/verifier_checks.hpp"

namespace sluice::plan {
namespace {

// What a residency holds, as the walk over the step goes on.
struct Copy {
  enum class State { kEmpty, kValid, kStale } state = State::kEmpty;
  graph::OpIndex valid_from = 0;   // kValid: until then a migration may still be filling it
  graph::OpIndex stale_since = 0;  // kStale: the op that wrote another copy
};

// Walks the step in plan order: migrations issued after op k-1, then op k. Each tensor's copies change state only by
// what names the tensor, so the walk is linear in operands and migrations times the residencies of one tensor.
class CopyWalk {
 public:
  CopyWalk(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan, const Names& names,
           Findings& findings)
      : graph_(graph),
        machine_(machine),
        plan_(plan),
        names_(names),
        findings_(findings),
        copies_(plan.residencies.size()),
        residencies_of_(graph.tensors().size()),
        under_way_(graph.tensors().size()),
        written_last_(graph.tensors().size(), -1) {
    for (std::size_t i = 0; i < plan.residencies.size(); ++i) {
      residencies_of_[as_index(plan.residencies[i].tensor)].push_back(as_id<ResidencyIndex>(i));
    }
  }

  void run() {
    begin_step();
    std::size_t issued = 0;
    for (graph::OpIndex op = 0; op <= graph_.op_count(); ++op) {
      for (; issued < plan_.migrations.size() && plan_.migrations[issued].issue_after < op; ++issued) {
        start_migration(as_id<MigrationIndex>(issued));
      }
      if (op < graph_.op_count()) run_op(op);
    }
    end_step();
  }

 private:
  const Residency& residency(ResidencyIndex i) const { return plan_.residencies[as_index(i)]; }
  Copy& copy(ResidencyIndex i) { return copies_[as_index(i)]; }

  void begin_step() {
    starts_ = verify::step_beginnings(graph_, plan_);
    for (graph::TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
      if (!graph::is_persistent(graph_.tensor(tensor).role)) continue;
      for (const ResidencyIndex start : starts_[as_index(tensor)]) copy(start) = {Copy::State::kValid, 0, 0};
      if (starts_[as_index(tensor)].size() == 1) continue;
      findings_.add(Rule::kCycleClosed, kStepStart,
                    fmt::format("{} must be in one place when the step starts, and {} residencies contain op 0 without "
                                "a migration that fills them before it",
                                names_.tensor(tensor), starts_[as_index(tensor)].size()));
    }
  }

  void start_migration(MigrationIndex index) {
    const Migration& m = plan_.migrations[as_index(index)];
    const memory::TierId from = residency(m.from).tier, to = residency(m.to).tier;
    if (!machine_.link_between(from, to)) {
      findings_.add(Rule::kLinkExists, m.issue_after,
                    fmt::format("{} of {}: no link joins {} to {}", names_.migration(index), names_.tensor(m.tensor),
                                names_.tier(from), names_.tier(to)));
    }
    check_source(index);
    copy(m.to) = {Copy::State::kValid, m.needed_by, 0};
    under_way_[as_index(m.tensor)].push_back(index);
  }

  void check_source(MigrationIndex index) {
    const Migration& m = plan_.migrations[as_index(index)];
    const Residency& source = residency(m.from);
    const Copy& held = copy(m.from);
    const auto fail = [&](Rule rule, const std::string& what) {
      findings_.add(rule, m.issue_after,
                    fmt::format("{} of {} reads {}, {}", names_.migration(index), names_.tensor(m.tensor),
                                names_.residency(m.from), what));
    };
    if (source.ops.begin > m.issue_after + 1 || source.ops.end < m.needed_by) {
      fail(Rule::kSourceStaysValid, "which has no room there until the copy is done");
    }
    if (held.state == Copy::State::kEmpty) fail(Rule::kSourceStaysValid, "which nothing has filled by then");
    if (held.state == Copy::State::kStale) {
      fail(Rule::kWriteInvalidates, fmt::format("and {} has written another copy", names_.op(held.stale_since)));
    }
    if (held.state == Copy::State::kValid && held.valid_from > m.issue_after + 1) {
      fail(Rule::kDestinationNotReadEarly, fmt::format("which another migration fills only by op {}", held.valid_from));
    }
  }

  void run_op(graph::OpIndex index) {
    const graph::Op& op = graph_.op(index);
    const std::vector<memory::TierId>& tiers = plan_.ops[as_index(index)].operand_tiers;
    for (std::size_t i = 0; i < tiers.size(); ++i) check_addressable(index, tiers[i]);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) read(index, op.inputs[i], tiers[i]);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) write(index, op.outputs[i], tiers[op.inputs.size() + i]);
  }

  void check_addressable(graph::OpIndex op, memory::TierId tier) {
    const ProcessorId processor = plan_.ops[as_index(op)].processor;
    if (machine_.addresses(processor, tier)) return;
    const std::string who = machine_.tier(tier).addressable ? fmt::format("processor {} '{}'", processor,
                                                                          machine_.processors[as_index(processor)].name)
                                                            : "ops";
    findings_.add(
        Rule::kTierAddressable, op,
        fmt::format("{} has an operand in {}, which {} may not address", names_.op(op), names_.tier(tier), who));
  }

  // The tensor's residency in `tier` at `op`, or -1 after reporting that there is none.
  ResidencyIndex operand(graph::OpIndex op, graph::TensorId tensor, memory::TierId tier) {
    for (const ResidencyIndex i : residencies_of_[as_index(tensor)]) {
      if (residency(i).tier != tier || !residency(i).ops.contains(op)) continue;
      if (residency(i).encoded()) {
        findings_.add(Rule::kEncodingAllowed, op,
                      fmt::format("{} uses {} in {}, where it lies encoded ({})", names_.op(op), names_.tensor(tensor),
                                  names_.residency(i), to_string(residency(i).encoding)));
      }
      return i;
    }
    findings_.add(Rule::kOperandResident, op,
                  fmt::format("{} expects {} in {}, where it has no residency", names_.op(op), names_.tensor(tensor),
                              names_.tier(tier)));
    return -1;
  }

  void read(graph::OpIndex op, graph::TensorId tensor, memory::TierId tier) {
    const ResidencyIndex found = operand(op, tensor, tier);
    if (found < 0) return;
    const Copy& held = copy(found);
    const auto fail = [&](Rule rule, const std::string& what) {
      findings_.add(
          rule, op,
          fmt::format("{} reads {} in {}, {}", names_.op(op), names_.tensor(tensor), names_.residency(found), what));
    };
    if (held.state == Copy::State::kEmpty) fail(Rule::kOperandResident, "which nothing has filled by then");
    if (held.state == Copy::State::kStale) {
      fail(Rule::kWriteInvalidates, fmt::format("and {} has written another copy", names_.op(held.stale_since)));
    }
    if (held.state == Copy::State::kValid && held.valid_from > op) {
      fail(Rule::kDestinationNotReadEarly, fmt::format("which a migration fills only by op {}", held.valid_from));
    }
  }

  void write(graph::OpIndex op, graph::TensorId tensor, memory::TierId tier) {
    const ResidencyIndex found = operand(op, tensor, tier);
    std::erase_if(under_way_[as_index(tensor)],
                  [&](MigrationIndex i) { return plan_.migrations[as_index(i)].needed_by <= op; });
    for (const MigrationIndex i : under_way_[as_index(tensor)]) {
      findings_.add(
          Rule::kSourceStaysValid, op,
          fmt::format("{} writes {} while {} copies it", names_.op(op), names_.tensor(tensor), names_.migration(i)));
    }
    for (const ResidencyIndex i : residencies_of_[as_index(tensor)]) {
      if (copy(i).state == Copy::State::kValid) copy(i) = {Copy::State::kStale, 0, op};
    }
    if (found >= 0) copy(found) = {Copy::State::kValid, op, 0};
    written_last_[as_index(tensor)] = found;
  }

  void end_step() {
    for (graph::TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
      const graph::Role role = graph_.tensor(tensor).role;
      if (graph::is_persistent(role) && starts_[as_index(tensor)].size() == 1)
        check_cycle(tensor, starts_[as_index(tensor)].front());
      if (role == graph::Role::kOutput && written_last_[as_index(tensor)] >= 0)
        check_output(tensor, written_last_[as_index(tensor)]);
    }
  }

  void check_cycle(graph::TensorId tensor, ResidencyIndex start) {
    const Residency& began = residency(start);
    for (const ResidencyIndex i : residencies_of_[as_index(tensor)]) {
      const Residency& r = residency(i);
      const bool same_place = r.tier == began.tier && r.offset == began.offset && r.encoding == began.encoding;
      if (same_place && r.ops.end == graph_.op_count() && copy(i).state == Copy::State::kValid) return;
    }
    findings_.add(Rule::kCycleClosed, graph_.op_count(),
                  fmt::format("{} begins the step in {}, and has no valid copy there when the step ends",
                              names_.tensor(tensor), names_.residency(start)));
  }

  void check_output(graph::TensorId tensor, ResidencyIndex last) {
    if (residency(last).ops.end == graph_.op_count()) return;
    findings_.add(Rule::kOperandResident, graph_.op_count(),
                  fmt::format("the caller reads {} after the step, and it was last written in {}",
                              names_.tensor(tensor), names_.residency(last)));
  }

  const graph::Graph& graph_;
  const memory::Machine& machine_;
  const Plan& plan_;
  const Names& names_;
  Findings& findings_;
  std::vector<Copy> copies_;                                 // by ResidencyIndex
  std::vector<std::vector<ResidencyIndex>> residencies_of_;  // by TensorId
  std::vector<std::vector<MigrationIndex>> under_way_;       // by TensorId: started, perhaps not done
  std::vector<std::vector<ResidencyIndex>> starts_;          // by TensorId
  std::vector<ResidencyIndex> written_last_;                 // by TensorId
};

}  // namespace

void check_copies(const graph::Graph& graph, const memory::Machine& machine, const Plan& plan, const Names& names,
                  Findings& findings) {
  CopyWalk(graph, machine, plan, names, findings).run();
}

}  // namespace sluice::plan
