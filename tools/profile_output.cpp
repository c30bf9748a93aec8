#include "tools/profile_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "sluice/base/as_index.hpp"
#include "sluice/graph/liveness.hpp"
#include "sluice/plan/own_encoding.hpp"
#include "sluice/profile/cost_model.hpp"
#include "sluice/report/text_table.hpp"

namespace sluice::cli {
namespace {

Seconds sum_of(const std::vector<Seconds>& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

std::vector<graph::OpIndex> slowest_ops(const profile::Profile& profile, std::size_t count) {
  std::vector<graph::OpIndex> order(profile.op_seconds.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](graph::OpIndex op) { return profile.op_seconds[as_index(op)]; });
  order.resize(std::min(order.size(), count));
  return order;
}

std::string cold_time(const profile::Profile& profile, graph::OpIndex op) {
  return profile.cold_seconds.empty() ? "" : format_seconds(profile.cold_seconds[as_index(op)]);
}

// The tier of the machine that was timed; nothing when the machine has no such tier (a profile from a file).
std::optional<memory::TierId> timed_tier(const memory::Machine& machine, const profile::PlacementTimes& times) {
  const auto tier = std::ranges::find(machine.tiers, times.tier, profile::tier_key);
  if (tier == machine.tiers.end()) return std::nullopt;
  return as_id<memory::TierId>(tier - machine.tiers.begin());
}

std::string tier_title(const memory::Machine& machine, memory::TierId tier) {
  return fmt::format("{}{}", machine.tier(tier).name, machine.tier(tier).emulated() ? " (emulated)" : "");
}

std::string placement_table(const graph::Graph& graph, const profile::CostModel& costs, memory::TierId tier,
                            const profile::Profile& profile, std::size_t count) {
  report::TextTable table({{"op", report::Align::kLeft, 0},
                           {"kind", report::Align::kLeft, 0},
                           {"all fast", report::Align::kRight, 0},
                           {"inputs slow", report::Align::kRight, 0},
                           {"outputs slow", report::Align::kRight, 0},
                           {"all slow", report::Align::kRight, 0}});
  for (const graph::OpIndex index : slowest_ops(profile, count)) {
    const graph::Op& op = graph.op(index);
    const Seconds fast = costs.op_seconds(index);
    const auto relative = [&](profile::OperandSet slow) {
      return fmt::format("{:.2f}x", costs.op_seconds(index, profile::operand_tiers(op, slow, tier)) / fast);
    };
    table.add_row({op.name, std::string(to_string(op.kind)), format_seconds(fast), relative(profile::read_operands(op)),
                   relative(profile::written_operands(op)),
                   relative(profile::read_operands(op) | profile::written_operands(op))});
  }
  return table.text();
}

nlohmann::json configurations_json(const graph::Graph& graph, const profile::CostModel& costs, memory::TierId tier,
                                   graph::OpIndex index, const profile::OpConfigurations& configurations) {
  const graph::Op& op = graph.op(index);
  const std::vector<graph::TensorId> distinct = graph::distinct_operands(op);
  nlohmann::json all = nlohmann::json::array();
  for (const profile::ConfigurationTime& each : configurations) {
    nlohmann::json slow = nlohmann::json::array();
    for (std::size_t i = 0; i < distinct.size() && i < profile::kMostOperands; ++i) {
      if ((each.slow >> i & 1) != 0) slow.push_back(graph.tensor(distinct[i]).name);
    }
    const Seconds seconds = costs.op_seconds(index, profile::operand_tiers(op, each.slow, tier));
    all.push_back({{"slow_operands", slow},
                   {"seconds", seconds},
                   {"relative", seconds / costs.op_seconds(index)},
                   {"samples", each.timing.samples}});
  }
  return all;
}

struct TensorSaving {
  graph::TensorId tensor = 0;
  Bytes bytes = 0;
  Bytes encoded = 0;
};

double in_mebibytes(Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }

// By implementation; as long as the first one where nobody has measured another.
std::vector<Seconds> implementation_times(const graph::Graph& graph, const profile::Profile& profile,
                                          graph::OpIndex op) {
  std::vector<Seconds> times{profile.op_seconds[op]};
  for (std::int32_t i = 1; i < static_cast<std::int32_t>(graph.op(op).implementations.size()); ++i) {
    const auto measured = profile.choices.find({i, kMainProcessor});
    times.push_back(measured == profile.choices.end() ? times.front() : measured->second->warm[op]);
  }
  return times;
}

// With several implementations, the one with the largest difference of time first.
std::vector<graph::OpIndex> ops_with_implementations(const graph::Graph& graph, const profile::Profile& profile) {
  std::vector<graph::OpIndex> found;
  for (graph::OpIndex op = 0; op < graph.op_count(); ++op) {
    if (graph.op(op).implementations.size() > 1) found.push_back(op);
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, [&](graph::OpIndex op) {
    const auto [least, most] = std::ranges::minmax(implementation_times(graph, profile, op));
    return most - least;
  });
  return found;
}

std::array<std::pair<memory::Encoding, profile::CoderSpeed>, 2> coders_of(const profile::EncodingFigures& figures) {
  return {{{memory::Encoding::kZeroValue, figures.zero_value}, {memory::Encoding::kNarrow, figures.narrow}}};
}

// Those of which encoding saves anything, the largest saving first.
std::vector<TensorSaving> encoding_savings(const graph::Graph& graph, const profile::EncodingFigures& figures) {
  std::vector<TensorSaving> savings;
  for (graph::TensorId id = 0; id < graph.tensor_count(); ++id) {
    const Bytes encoded = figures.encoded_bytes[as_index(id)];
    const Bytes bytes = align_up(graph.tensor(id).bytes, memory::kBlockAlignment);
    if (encoded > 0 && encoded < bytes) savings.push_back({id, bytes, encoded});
  }
  const auto saved = [](const TensorSaving& each) { return each.bytes - each.encoded; };
  std::ranges::stable_sort(savings, std::ranges::greater{}, saved);
  return savings;
}

}  // namespace

std::string describe_times(const graph::Graph& graph, const memory::Machine& machine, const profile::Profile& profile,
                           std::size_t count) {
  const Seconds total = sum_of(profile.op_seconds);
  report::TextTable table({{"op", report::Align::kLeft, 0},
                           {"kind", report::Align::kLeft, 0},
                           {"phase", report::Align::kLeft, 0},
                           {"warm", report::Align::kRight, 0},
                           {"cold", report::Align::kRight, 0},
                           {"share", report::Align::kRight, 0}});
  for (const graph::OpIndex index : slowest_ops(profile, count)) {
    const graph::Op& op = graph.op(index);
    const Seconds seconds = profile.op_seconds[as_index(index)];
    table.add_row({op.name, std::string(to_string(op.kind)), std::string(to_string(op.phase)), format_seconds(seconds),
                   cold_time(profile, index), fmt::format("{:.1f} %", 100 * seconds / total)});
  }
  return fmt::format(
      "{} of {} distinct ops measured, {} from the cache\nsum of op times {} warm, {} cold, all in fast memory, {} "
      "threads\n\n{}",
      profile.measured_ops, profile.distinct_ops, profile.distinct_ops - profile.measured_ops, format_seconds(total),
      format_seconds(sum_of(profile.cold_seconds)), machine.threads, table.text());
}

std::string describe_implementations(const graph::Graph& graph, const profile::Profile& profile, std::size_t count) {
  report::TextTable table({{"op", report::Align::kLeft, 0},
                           {"kernel", report::Align::kLeft, 0},
                           {"warm", report::Align::kRight, 0},
                           {"workspace", report::Align::kRight, 0}});
  std::vector<graph::OpIndex> ops = ops_with_implementations(graph, profile);
  const std::size_t all = ops.size();
  if (ops.size() > count) ops.resize(count);
  for (const graph::OpIndex op : ops) {
    const std::vector<Seconds> times = implementation_times(graph, profile, op);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const graph::Implementation& each = graph.op(op).implementations[i];
      table.add_row(
          {i == 0 ? graph.op(op).name : "", each.name, format_seconds(times[i]), format_bytes(each.workspace_bytes)});
    }
  }
  return fmt::format("\n{} of {} ops have several kernels; the first of each runs unless a plan chooses another\n\n{}",
                     all, graph.op_count(), table.text());
}

nlohmann::json implementations_json(const graph::Graph& graph, const profile::Profile& profile) {
  nlohmann::json ops = nlohmann::json::array();
  for (const graph::OpIndex op : ops_with_implementations(graph, profile)) {
    nlohmann::json entry = {{"op", graph.op(op).name}, {"implementations", nlohmann::json::array()}};
    const std::vector<Seconds> times = implementation_times(graph, profile, op);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const graph::Implementation& each = graph.op(op).implementations[i];
      entry["implementations"].push_back(
          {{"name", each.name}, {"seconds", times[i]}, {"workspace_bytes", each.workspace_bytes}});
    }
    ops.push_back(std::move(entry));
  }
  return ops;
}

std::string describe_placements(const graph::Graph& graph, const memory::Machine& machine,
                                const profile::Profile& profile, const measure::PlacementEffort& effort,
                                std::size_t count) {
  std::string text = fmt::format(
      "\ntimes by placement: {} of {} distinct ops measured, {} from the cache; {} configurations in {}\n",
      effort.measured, effort.ops, effort.ops - effort.measured, effort.configurations, format_seconds(effort.seconds));
  const profile::CostModel costs(graph, profile, machine);
  for (const auto& times : profile.placements) {
    const auto tier = timed_tier(machine, *times);
    if (!tier) continue;
    text += fmt::format("\nwith operands in {}, against all in fast memory\n\n{}", tier_title(machine, *tier),
                        placement_table(graph, costs, *tier, profile, count));
  }
  return text;
}

std::string describe_encodings(const graph::Graph& graph, const profile::Profile& profile, std::size_t count) {
  const std::vector<TensorSaving> savings = encoding_savings(graph, *profile.encodings);
  report::TextTable table({{"tensor"},
                           {"encoding"},
                           {"MiB", report::Align::kRight},
                           {"encoded MiB", report::Align::kRight},
                           {"ratio", report::Align::kRight}});
  for (std::size_t i = 0; i < std::min(count, savings.size()); ++i) {
    const auto& [tensor, bytes, encoded] = savings[i];
    table.add_row({graph.tensor(tensor).name, std::string(to_string(plan::own_encoding(graph.tensor(tensor)))),
                   fmt::format("{:.2f}", in_mebibytes(bytes)), fmt::format("{:.2f}", in_mebibytes(encoded)),
                   fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(encoded))});
  }
  std::string text = "\n";
  for (const auto& [encoding, speed] : coders_of(*profile.encodings)) {
    text +=
        fmt::format("{} ({}): one thread encodes {} and decodes {}\n", to_string(encoding),
                    plan::elements_allowed(encoding), format_bandwidth(speed.encode), format_bandwidth(speed.decode));
  }
  return text + fmt::format("encoding saves bytes of {} tensors\n\n{}", savings.size(), table.text());
}

nlohmann::json encodings_json(const graph::Graph& graph, const profile::EncodingFigures& figures) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const auto& [tensor, bytes, encoded] : encoding_savings(graph, figures)) {
    tensors.push_back({{"tensor", graph.tensor(tensor).name},
                       {"encoding", to_string(plan::own_encoding(graph.tensor(tensor)))},
                       {"bytes", bytes},
                       {"encoded_bytes", encoded}});
  }
  nlohmann::json coders = nlohmann::json::object();
  for (const auto& [encoding, speed] : coders_of(figures)) {
    coders[std::string(to_string(encoding))] = {{"encode_bytes_per_second", speed.encode},
                                                {"decode_bytes_per_second", speed.decode}};
  }
  return {{"coders", std::move(coders)}, {"tensors", std::move(tensors)}};
}

nlohmann::json op_times_json(const graph::Graph& graph, const profile::Profile& profile) {
  nlohmann::json ops = nlohmann::json::array();
  for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
    const auto at = as_index(index);
    ops.push_back({{"op", graph.op(index).name},
                   {"kind", to_string(graph.op(index).kind)},
                   {"phase", to_string(graph.op(index).phase)},
                   {"seconds", profile.op_seconds[at]}});
    if (!profile.cold_seconds.empty()) ops.back()["cold_seconds"] = profile.cold_seconds[at];
  }
  return ops;
}

nlohmann::json placements_json(const graph::Graph& graph, const memory::Machine& machine,
                               const profile::Profile& profile) {
  nlohmann::json all = nlohmann::json::array();
  const profile::CostModel costs(graph, profile, machine);
  for (const auto& times : profile.placements) {
    const auto tier = timed_tier(machine, *times);
    if (!tier) continue;
    nlohmann::json ops = nlohmann::json::array();
    std::set<const profile::OpConfigurations*> shown;
    for (graph::OpIndex index = 0; index < graph.op_count(); ++index) {
      const profile::OpConfigurations* configurations = times->of(index);
      if (configurations == nullptr || !shown.insert(configurations).second) continue;
      ops.push_back({{"op", graph.op(index).name},
                     {"configurations", configurations_json(graph, costs, *tier, index, *configurations)}});
    }
    all.push_back({{"tier", machine.tier(*tier).name}, {"emulated", times->emulated}, {"ops", ops}});
  }
  return all;
}

}  // namespace sluice::cli
