#include "sluice/report/page/tensor_lives.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/plan/plan_graph.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;

struct Chapter {
  graph::OpIndex slot = 0;
  std::string text;
};

// Of one tensor of the given graph.
struct Life {
  json places = json::array();
  std::vector<Chapter> chapters;
  std::vector<memory::TierId> tiers;  // where it ever is
};

class Lives {
 public:
  Lives(const plan::PlanGraph& step, const memory::Machine& machine, const plan::Plan& plan,
        std::span<const double> slots)
      : given_(step.given()),
        machine_(machine),
        plan_(plan),
        step_(step),
        slots_(slots),
        lives_(given_.tensors().size()) {
    for (const plan::Residency& each : plan.residencies) add_place(each);
    for (const plan::Migration& each : plan.migrations) add_migration(each);
    add_repetitions();
  }

  json document() {
    json all = json::array();
    for (graph::TensorId id = 0; id < given_.tensor_count(); ++id) {
      const graph::Tensor& tensor = given_.tensor(id);
      Life& life = lives_[as_index(id)];
      all.push_back({{"name", tensor.name},
                     {"role", to_string(tensor.role)},
                     {"bytes", tensor.bytes},
                     {"shape", graph::to_string(tensor.shape)},
                     {"places", std::move(life.places)},
                     {"story", story(life)}});
    }
    return all;
  }

 private:
  const graph::Graph& graph() const { return step_.graph(); }
  Life& life_of(graph::TensorId id) {
    return lives_[as_index(step_.rescheduled() == nullptr ? id : step_.rescheduled()->tensor_of[as_index(id)])];
  }
  std::string op(graph::OpIndex slot) const { return fmt::format("op {} ({})", slot, graph().op(slot).name); }

  void add_place(const plan::Residency& residency) {
    Life& life = life_of(residency.tensor);
    life.places.push_back({residency.tier, slots_[as_index(residency.ops.begin)], slots_[as_index(residency.ops.end)]});
    if (std::ranges::find(life.tiers, residency.tier) == life.tiers.end()) life.tiers.push_back(residency.tier);
  }

  void add_migration(const plan::Migration& migration) {
    const memory::TierId from = plan_.residencies[migration.from].tier, to = plan_.residencies[migration.to].tier;
    std::string text;
    if (to > from) {
      text = migration.issue_after == plan::kStepStart ? "evicted as the step starts"
                                                       : "evicted after " + op(migration.issue_after);
    } else {
      text = migration.needed_by == graph().op_count() ? "back before the step ends"
                                                       : "back before " + op(migration.needed_by);
    }
    if (machine_.tiers.size() > 2) text += fmt::format(" ({} to {})", machine_.tier(from).name, machine_.tier(to).name);
    life_of(migration.tensor).chapters.push_back({migration.issue_after, std::move(text)});
  }

  void add_repetitions() {
    if (step_.rescheduled() == nullptr) return;
    const graph::Liveness liveness = graph::analyze_liveness(graph());
    for (graph::TensorId id = given_.tensor_count(); id < graph().tensor_count(); ++id) {
      if (liveness.uses[id].empty()) continue;
      const graph::OpIndex maker = liveness.uses[id].front().op;
      life_of(id).chapters.push_back({maker, "made again by " + op(maker)});
    }
  }

  std::string story(Life& life) const {
    if (life.tiers.empty()) return "not made: another tensor with its values is kept and read instead";
    if (life.chapters.empty()) return "stays in " + machine_.tier(life.tiers.front()).name;
    std::ranges::stable_sort(life.chapters, {}, &Chapter::slot);
    std::vector<std::string> texts;
    for (const Chapter& each : life.chapters) texts.push_back(each.text);
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  const graph::Graph& given_;
  const memory::Machine& machine_;
  const plan::Plan& plan_;
  const plan::PlanGraph& step_;
  std::span<const double> slots_;
  std::vector<Life> lives_;
};

}  // namespace

json tensor_lives_json(const plan::PlanGraph& step, const memory::Machine& machine, const plan::Plan& plan,
                       std::span<const double> slots) {
  return Lives(step, machine, plan, slots).document();
}

json largest_tensors_json(const json& lives, std::size_t most) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (!lives[i]["places"].empty() && lives[i]["role"] != "workspace") order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return lives[i]["bytes"].get<Bytes>(); });
  order.resize(std::min(order.size(), most));
  return order;
}

}  // namespace sluice::report
