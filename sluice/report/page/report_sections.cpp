#include "sluice/report/page/report_sections.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/as_index.hpp"
#include "sluice/report/page/section_parts.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;

constexpr std::size_t kWaitsShown = 10;

// "parameters 97.5 MiB", for each role at the fullest moment.
std::string roles_at_peak(const ShownNumbers& numbers, const std::string& tier) {
  const auto moment = numbers.at(tier + "/peak/moment").get<std::size_t>();
  std::string html;
  for (std::size_t role = 0; role < numbers.at(tier + "/roles").size(); ++role) {
    const std::string at = fmt::format("{}/bytes/{}/{}", tier, role, moment);
    if (numbers.at(at) == 0) continue;
    std::string name = numbers.text(fmt::format("{}/roles/{}", tier, role));
    std::ranges::replace(name, '_', ' ');
    html += fmt::format("{}{} {}", html.empty() ? "" : ", ", name, numbers.bytes(at));
  }
  return html;
}

// Why a budget has no step time, or what is special about it.
std::string note_of_point(const ShownNumbers& numbers, const std::string& point) {
  if (numbers.has(point + "/smallest_feasible_bytes")) {
    return "too little: it needs " + numbers.bytes(point + "/smallest_feasible_bytes");
  }
  if (numbers.has(point + "/infeasible")) return numbers.text(point + "/infeasible");
  return numbers.at(point + "/knee") == true ? "the knee: less memory costs more from here" : "";
}

}  // namespace

std::string summary_section(const ShownNumbers& numbers) {
  HtmlTable table({{""}, {""}});
  table.add_row({"Fast memory that the plan may use", numbers.bytes("/plan/budgets/0")});
  table.add_row({"Fast memory that everything takes", numbers.bytes("/plan/fast_only_bytes")});
  table.add_row({"Predicted step", numbers.milliseconds("/plan/predicted_ms")});
  table.add_row({"Predicted step with everything in fast memory", numbers.milliseconds("/step/fast_only_ms")});
  table.add_row({"Predicted loss", numbers.percent("/plan/predicted_loss")});
  table.add_row(
      {"With these kernels no plan in this memory takes less than", numbers.milliseconds("/plan/lower_bound_ms")});
  table.add_row({"Nor, by moving tensors in this order, than", numbers.milliseconds("/plan/order_bound_ms")});
  table.add_row({"Moved into fast memory a step", numbers.bytes("/plan/bytes_in")});
  table.add_row({"Moved out of it a step", numbers.bytes("/plan/bytes_out")});
  table.add_row({"Ops made again", numbers.count("/plan/ops_again")});
  return page_section(
      "summary",
      fmt::format("One training step, planned by {}{}", numbers.text("/plan/planner"), note_of_emulation(numbers)),
      table.html());
}

std::string memory_section(const ShownNumbers& numbers) {
  std::string charts;
  HtmlTable table({{"tier"},
                   {"budget", Align::kRight},
                   {"arena", Align::kRight},
                   {"peak", Align::kRight},
                   {"at", Align::kRight},
                   {"while this op runs"},
                   {"what it holds then"}});
  for (std::size_t i = 0; i < numbers.at("/memory").size(); ++i) {
    const std::string tier = entry("/memory", i);
    const std::string name =
        numbers.text(tier + "/tier") + (numbers.at(tier + "/emulated") == true ? " (emulated)" : "");
    charts += chart_place(fmt::format("memory-{}", i), fmt::format("Bytes in {} over the step, by role",
                                                                   numbers.at(tier + "/tier").get<std::string>()));
    table.add_row({name, numbers.bytes(tier + "/budget_bytes"), numbers.bytes(tier + "/arena_bytes"),
                   numbers.bytes(tier + "/peak/bytes"), numbers.milliseconds(tier + "/peak/ms"),
                   code(numbers.text(tier + "/peak/op")), roles_at_peak(numbers, tier)});
  }
  return page_section(
      "memory", "Memory over the step",
      caption("What each tier holds at every moment of the predicted step. Room counts from the moment it is "
              "reserved until it is given back.") +
          charts + folded_table("At the fullest moment", table));
}

std::string timeline_section(const ShownNumbers& numbers) {
  const json& bars = numbers.at("/timeline/bars");
  const json& kinds = numbers.at("/timeline/kinds");
  const auto stall = as_index(std::ranges::find(kinds, json("stall")) - kinds.begin());
  std::vector<std::size_t> stalls;
  const auto length = [&](std::size_t i) {
    return bars["end_ms"][i].get<double>() - bars["begin_ms"][i].get<double>();
  };
  for (std::size_t i = 0; i < bars["kind"].size(); ++i) {
    if (bars["kind"][i] == stall) stalls.push_back(i);
  }
  std::ranges::stable_sort(stalls, std::ranges::greater{}, length);
  stalls.resize(std::min(stalls.size(), kWaitsShown));
  HtmlTable table({{"from", Align::kRight}, {"until", Align::kRight}, {"what waits for what"}});
  for (const std::size_t i : stalls) {
    table.add_row({numbers.milliseconds(entry("/timeline/bars/begin_ms", i)),
                   numbers.milliseconds(entry("/timeline/bars/end_ms", i)),
                   numbers.text(entry("/timeline/bars/cause", i))});
  }
  const std::string waits =
      table.empty() ? caption("No op waits for anything.") : folded_table("The longest waits", table);
  return page_section(
      "timeline", "Timeline",
      caption("The predicted step: a lane for each processor and each direction in which anything is moved.") +
          chart_place("timeline", "Ops and transfers of the step, a lane for each processor and link") + waits);
}

std::string planners_section(const ShownNumbers& numbers) {
  const bool executed = numbers.at("/comparison/executed") == true;
  HtmlTable table({{"planner"},
                   {executed ? "step, median" : "step, predicted", Align::kRight},
                   {executed ? "quartiles" : "", Align::kRight},
                   {"over everything in fast memory", Align::kRight},
                   {"predicted", Align::kRight},
                   {"bound in this order", Align::kRight},
                   {"into fast", Align::kRight},
                   {"out of it", Align::kRight},
                   {"note"}});
  const std::string list = "/comparison/results";
  for (std::size_t i = 0; i < numbers.at(list).size(); ++i) {
    const std::string row = entry(list, i);
    const std::string name = code(numbers.text(row + "/planner"));
    if (numbers.has(row + "/infeasible")) {
      table.add_row({name, "–", "", "–", "–", "–", "–", "–", numbers.text(row + "/infeasible")});
      continue;
    }
    const std::string quartiles =
        executed ? numbers.milliseconds(row + "/step_ms/q1") + " to " + numbers.milliseconds(row + "/step_ms/q3") : "";
    table.add_row({name, numbers.milliseconds(row + (executed ? "/step_ms/median" : "/predicted_ms")), quartiles,
                   numbers.ratio(row + (executed ? "/slowdown" : "/predicted_slowdown")),
                   numbers.ratio(row + "/predicted_slowdown"), numbers.milliseconds(row + "/order_bound_ms"),
                   numbers.bytes(row + "/bytes_in"), numbers.bytes(row + "/bytes_out"), ""});
  }
  std::string how = executed ? "Run step by step in turn, a process each: medians and quartiles."
                             : "Simulated from measured op times; add --run to run them.";
  if (numbers.has("/comparison/not_run")) how = "Simulated, not run: " + numbers.text("/comparison/not_run");
  if (numbers.at("/comparison/same_bits") == false) how += " RESULTS DIFFER from fast-only's: this is a bug.";
  return page_section("planners", "Planners in the same memory" + note_of_emulation(numbers),
                      caption(how) + chart_place("planners", "Step time by planner, with the certified bound") +
                          folded_table("The numbers", table));
}

std::string curve_section(const ShownNumbers& numbers) {
  HtmlTable table({{"planner"},
                   {"fast memory", Align::kRight},
                   {"of everything", Align::kRight},
                   {"step, predicted", Align::kRight},
                   {"over everything in fast memory", Align::kRight},
                   {"bound", Align::kRight},
                   {"note"}});
  const std::string list = "/sweep/models/0/points";
  for (std::size_t i = 0; i < numbers.at(list).size(); ++i) {
    const std::string point = entry(list, i);
    const std::string note = note_of_point(numbers, point);
    table.add_row({code(numbers.text(point + "/planner")), numbers.bytes(point + "/budget_bytes"),
                   numbers.percent(point + "/share"), numbers.milliseconds(point + "/predicted_ms"),
                   numbers.ratio(point + "/predicted_slowdown"), numbers.ratio(point + "/bound_slowdown"), note});
  }
  return page_section("curve", "Step time over fast memory" + note_of_emulation(numbers),
                      caption("Simulated. How much memory is enough: left of the knee every gigabyte is dear.") +
                          chart_place("curve", "Predicted step time over fast memory, a line for each planner") +
                          folded_table("The numbers", table));
}

std::string more_memory_section(const ShownNumbers& numbers) {
  const std::string more = "/more_memory";
  if (!numbers.has(more)) return "";
  std::string html;
  if (numbers.has(more + "/saves_ms")) {
    const bool all = numbers.at(more + "/to_bytes") == numbers.at("/plan/fast_only_bytes");
    html = fmt::format("With {} more fast memory{} the step is predicted to take {} instead of {}: it saves {}.",
                       numbers.bytes(more + "/more_bytes"),
                       all ? fmt::format(" everything, {}, is in it, and", numbers.bytes(more + "/to_bytes")) : "",
                       numbers.milliseconds(more + "/predicted_ms"), numbers.milliseconds(more + "/now_ms"),
                       numbers.milliseconds(more + "/saves_ms"));
  } else {
    html = numbers.text(more + "/infeasible");
  }
  if (numbers.has("/plan/worth")) {
    html +=
        fmt::format(" At the bound's prices a MiB more saves up to {} a step, and links a tenth faster save up to {}.",
                    numbers.milliseconds("/plan/worth/ms_per_mib"),
                    numbers.milliseconds("/plan/worth/ms_for_links_a_tenth_faster"));
  }
  return page_section("more", "What one more GiB would buy" + note_of_emulation(numbers), caption(html));
}

}  // namespace sluice::report
