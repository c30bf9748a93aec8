#include "sluice/report/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/graph/value_numbers.hpp"
#include "sluice/plan/plan_graph.hpp"

namespace sluice::report {
namespace {

constexpr std::size_t kMostSuggestions = 5;

// Who happens first in one slot: transfers are issued behind its op.
int rank(const LifeEvent& event) { return event.kind == "leaves" || event.kind == "comes" ? 1 : 0; }

class PlanStory {
 public:
  PlanStory(const graph::Graph& graph, const memory::Machine& machine, const plan::Plan& plan)
      : given_(graph),
        machine_(machine),
        plan_(plan),
        step_(graph, plan),
        liveness_(graph::analyze_liveness(step_.graph())) {}

  std::vector<Explanation> about(std::string_view name) const {
    std::vector<Explanation> found;
    for (graph::OpIndex slot = 0; slot < graph().op_count(); ++slot) {
      if (graph().op(slot).name == name) found.push_back(life_of_op(op_of(slot)));
    }
    for (graph::OpIndex op = 0; op < given_.op_count() && found.empty(); ++op) {
      if (given_.op(op).name == name) found.push_back(life_of_op(op));  // left out of the schedule
    }
    for (graph::TensorId id = 0; id < graph().tensor_count(); ++id) {
      if (graph().tensor(id).name == name) found.push_back(life_of_tensor(tensor_of(id)));
    }
    return found;
  }

  Error unknown(std::string_view name) const {
    std::vector<std::string> alike;
    const auto collect = [&](const std::string& other) {
      const bool known = std::ranges::find(alike, other) != alike.end();
      if (!known && alike.size() < kMostSuggestions && other.find(name) != std::string::npos) alike.push_back(other);
    };
    for (const graph::Op& op : graph().ops()) collect(op.name);
    for (const graph::Tensor& tensor : graph().tensors()) collect(tensor.name);
    return bad_input(fmt::format("'{}' is neither an op nor a tensor of {}{}", name, given_.name,
                                 alike.empty()
                                     ? "; the plan file names them"
                                     : "; names that contain it: " + fmt::format("{}", fmt::join(alike, ", "))));
  }

 private:
  const graph::Graph& graph() const { return step_.graph(); }
  const std::string& tier(memory::TierId id) const { return machine_.tier(id).name; }
  graph::OpIndex op_of(graph::OpIndex slot) const {
    return step_.rescheduled() == nullptr ? slot : step_.rescheduled()->op_of[as_index(slot)];
  }
  graph::TensorId tensor_of(graph::TensorId id) const {
    return step_.rescheduled() == nullptr ? id : step_.rescheduled()->tensor_of[as_index(id)];
  }

  Explanation life_of_op(graph::OpIndex op) const {
    Explanation life;
    for (graph::OpIndex slot = 0; slot < graph().op_count(); ++slot) {
      if (op_of(slot) != op) continue;
      const bool again = !life.events.empty();
      life.events.push_back({slot, again ? "makes again" : "makes", (again ? "it runs again" : "it runs") + how(slot)});
      const graph::Op& run = graph().op(slot);
      for (std::size_t i = 0; i < run.inputs.size(); ++i) {
        life.events.push_back({slot, "reads", operand_text("reads", run.inputs[i], slot, i)});
      }
      for (std::size_t i = 0; i < run.outputs.size(); ++i) {
        life.events.push_back({slot, "makes", operand_text("writes", run.outputs[i], slot, run.inputs.size() + i)});
      }
    }
    const graph::Op& given = given_.op(op);
    if (life.events.empty())
      life.events.push_back({plan::kStepStart, "left out", left_out_text(given.outputs.front())});
    life.subject = fmt::format("{}, an op of kind {}: number {} of {} in the graph's order", given.name,
                               to_string(given.kind), op, given_.op_count());
    return life;
  }

  // Of what an op would have made that does not run.
  std::string left_out_text(graph::TensorId id) const {
    const graph::TensorId first = graph::first_tensors(given_, graph::number_values(given_))[as_index(id)];
    return fmt::format("it is not made again: {} is kept and read instead", given_.tensor(first).name);
  }

  std::string operand_text(std::string_view verb, graph::TensorId id, graph::OpIndex slot, std::size_t operand) const {
    std::string text = fmt::format("{} {}, {}, in {}", verb, graph().tensor(id).name,
                                   format_bytes(graph().tensor(id).bytes), tier(tier_of(slot, operand)));
    if (verb == "reads") {
      const graph::OpIndex writer = writer_before(id, slot);
      if (writer != plan::kStepStart) text += fmt::format("; {} wrote it in slot {}", graph().op(writer).name, writer);
    }
    return text;
  }

  // " by jit:avx512_core, on processor 'host'", where the plan has chosen either.
  std::string how(graph::OpIndex slot) const {
    std::string text;
    const graph::Op& op = graph().op(slot);
    if (plan_.ops[slot].implementation != 0) text += " by " + op.implementations.front().name;
    if (op.processor != kMainProcessor) {
      text += fmt::format("{} on processor '{}'", text.empty() ? "" : ",",
                          machine_.processors.at(as_index(op.processor)).name);
    }
    return text;
  }

  memory::TierId tier_of(graph::OpIndex slot, std::size_t operand) const {
    return plan_.ops[slot].operand_tiers.at(operand);
  }

  graph::OpIndex writer_before(graph::TensorId id, graph::OpIndex slot) const {
    graph::OpIndex writer = plan::kStepStart;
    for (const graph::Use& use : liveness_.uses[id]) {
      if (use.op < slot && use.writes) writer = use.op;
    }
    return writer;
  }

  Explanation life_of_tensor(graph::TensorId given) const {
    const graph::Tensor& tensor = given_.tensor(given);
    Explanation life{
        .subject = fmt::format("{}, {} of {}", tensor.name, to_string(tensor.role), format_bytes(tensor.bytes)),
        .events = {}};
    for (graph::TensorId id = 0; id < graph().tensor_count(); ++id) {
      if (tensor_of(id) == given) add_copy(life, id);
    }
    if (life.events.empty()) life.events.push_back({plan::kStepStart, "left out", left_out_text(given)});
    std::ranges::stable_sort(life.events, [](const LifeEvent& a, const LifeEvent& b) {
      return a.slot != b.slot ? a.slot < b.slot : rank(a) < rank(b);
    });
    return life;
  }

  void add_copy(Explanation& life, graph::TensorId id) const {
    const bool persistent = graph::is_persistent(graph().tensor(id).role);
    for (const plan::Residency& residency : plan_.residencies) {
      const bool first = persistent && residency.tensor == id && residency.ops.begin == 0 && !arrives(residency);
      if (first) life.events.push_back({plan::kStepStart, "begins", "it is in " + tier(residency.tier)});
    }
    for (const graph::Use& use : liveness_.uses[id]) add_use(life, id, use);
    for (const plan::Migration& migration : plan_.migrations) {
      if (migration.tensor == id) add_migration(life, migration);
    }
    for (plan::ResidencyIndex index = 0; index < as_id<plan::ResidencyIndex>(plan_.residencies.size()); ++index) {
      if (plan_.residencies[index].tensor == id) add_silent_leave(life, index);
    }
    if (persistent) life.events.push_back({graph().op_count(), "ends", "it is where it began"});
  }

  // Room given up without a copy, because another tier has the tensor, too.
  void add_silent_leave(Explanation& life, plan::ResidencyIndex index) const {
    const plan::Residency& left = plan_.residencies[index];
    const bool copied =
        std::ranges::any_of(plan_.migrations, [&](const plan::Migration& each) { return each.from == index; });
    if (copied || left.ops.end >= graph().op_count()) return;
    for (const plan::Residency& other : plan_.residencies) {
      const bool elsewhere = other.tensor == left.tensor && other.tier != left.tier && other.ops.contains(left.ops.end);
      if (!elsewhere) continue;
      life.events.push_back(
          {left.ops.end - 1, "leaves",
           fmt::format("behind the op its room in {} is given up; {} has it", tier(left.tier), tier(other.tier))});
      return;
    }
  }

  // Whether a migration fills the residency, so that the step does not begin with the tensor there.
  bool arrives(const plan::Residency& residency) const {
    return std::ranges::any_of(plan_.migrations,
                               [&](const plan::Migration& each) { return &plan_.residencies[each.to] == &residency; });
  }

  void add_use(Explanation& life, graph::TensorId id, const graph::Use& use) const {
    const graph::Op& op = graph().op(use.op);
    const auto all = [&] {
      std::vector<graph::TensorId> operands = op.inputs;
      operands.insert(operands.end(), op.outputs.begin(), op.outputs.end());
      return operands;
    }();
    const auto at = as_index(std::ranges::find(all, id) - all.begin());
    const bool copy = id >= given_.tensor_count();
    const std::string_view kind = use.reads && use.writes ? "updates"
                                  : use.reads             ? "reads"
                                  : copy                  ? "makes again"
                                                          : "makes";
    const bool last = use.op == liveness_.uses[id].back().op && !graph::is_persistent(graph().tensor(id).role);
    const std::string name = copy ? fmt::format("it ({})", graph().tensor(id).name) : "it";
    const std::string_view verb = kind == "makes again" ? "makes" : kind;
    life.events.push_back({use.op, kind,
                           fmt::format("{} {} {}{} in {}{}", op.name, verb, name, kind == "makes again" ? " again" : "",
                                       tier(tier_of(use.op, at)), last && use.reads ? ", for the last time" : "")});
  }

  // As the planner has recorded it.
  static std::string why(const plan::Migration& migration) {
    const plan::CauseText* const cause = text_of(migration.cause);
    return cause == nullptr ? "" : fmt::format(" ({})", cause->text);
  }

  void add_migration(Explanation& life, const plan::Migration& migration) const {
    const memory::TierId to = plan_.residencies[migration.to].tier;
    const bool leaves = to > plan_.residencies[migration.from].tier;
    const plan::Residency& there = plan_.residencies[leaves ? migration.to : migration.from];
    const std::string encoded =
        there.encoded() ? fmt::format(", {} {}", leaves ? "encoded as" : "decoded from", to_string(there.encoding))
                        : "";
    life.events.push_back(
        {migration.issue_after, leaves ? "leaves" : "comes",
         fmt::format(
             "{} it starts to {} {}{}; there before {}{}",
             migration.issue_after == plan::kStepStart ? "with the step" : "behind the op",
             leaves ? "leave for" : "come to", tier(to), encoded,
             migration.needed_by == graph().op_count() ? "the step ends" : fmt::format("slot {}", migration.needed_by),
             why(migration))});
  }

  const graph::Graph& given_;
  const memory::Machine& machine_;
  const plan::Plan& plan_;
  plan::PlanGraph step_;
  graph::Liveness liveness_;
};

}  // namespace

Result<std::vector<Explanation>> explain(const graph::Graph& graph, const memory::Machine& machine,
                                         const plan::Plan& plan, std::string_view name) {
  const PlanStory story(graph, machine, plan);
  std::vector<Explanation> found = story.about(name);
  if (found.empty()) return story.unknown(name);
  return found;
}

std::string explanation_text(const Explanation& explanation) {
  std::string text = explanation.subject + "\n";
  const LifeEvent* before = nullptr;
  for (const LifeEvent& event : explanation.events) {
    const bool same = before != nullptr && before->slot == event.slot;
    const std::string when = same                             ? ""
                             : event.slot == plan::kStepStart ? "start"
                             : event.kind == "ends"           ? "end"
                                                              : fmt::format("slot {}", event.slot);
    text += fmt::format("  {:<10}{}\n", when, event.text);
    before = &event;
  }
  return text;
}

nlohmann::json explanation_json(const Explanation& explanation) {
  nlohmann::json events = nlohmann::json::array();
  for (const LifeEvent& event : explanation.events) {
    events.push_back({{"slot", event.slot}, {"kind", event.kind}, {"text", event.text}});
  }
  return {{"subject", explanation.subject}, {"events", events}};
}

}  // namespace sluice::report
