// The sections of a report that list facts: where the time goes, tensors, the machine, commands.
#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/units.hpp"
#include "sluice/report/page/report_sections.hpp"
#include "sluice/report/page/section_parts.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;

// The parts of a step that are known of a planner's row: measured where it was run.
std::string parts_of(const ShownNumbers& numbers, const std::string& row) {
  return row + (numbers.has(row + "/measured_parts_ms") ? "/measured_parts_ms" : "/predicted_parts_ms");
}

std::string provenance(const ShownNumbers& numbers, const std::string& at) {
  const std::string known = numbers.text(at + "/provenance");
  return numbers.at(at + "/emulated") == true || numbers.at(at + "/throttled") == true ? "emulated" : known;
}

std::string bandwidth(const ShownNumbers& numbers, const std::string& at) {
  const json& value = numbers.at(at);
  if (!value.is_number() || value.get<double>() <= 0) return "–";
  return fmt::format("<data value=\"{}\" data-at=\"{}\">{}</data>", value.dump(), at,
                     format_bandwidth(value.get<double>()));
}

std::string tier_name(const ShownNumbers& numbers, const std::string& at) {
  return numbers.text(entry("/machine/tiers", numbers.at(at).get<std::size_t>()) + "/name");
}

std::string tiers_table(const ShownNumbers& numbers) {
  HtmlTable table({{"tier"}, {"kind"}, {"capacity", Align::kRight}, {"figures are"}});
  for (std::size_t i = 0; i < numbers.at("/machine/tiers").size(); ++i) {
    const std::string tier = entry("/machine/tiers", i);
    table.add_row({numbers.text(tier + "/name"), numbers.text(tier + "/kind"), numbers.bytes(tier + "/capacity_bytes"),
                   provenance(numbers, tier)});
  }
  return table.html();
}

std::string links_table(const ShownNumbers& numbers) {
  HtmlTable table(
      {{"link"}, {"bandwidth", Align::kRight}, {"both directions at once", Align::kRight}, {"figures are"}});
  for (std::size_t i = 0; i < numbers.at("/machine/links").size(); ++i) {
    const std::string link = entry("/machine/links", i);
    table.add_row({fmt::format("{} → {}", tier_name(numbers, link + "/from"), tier_name(numbers, link + "/to")),
                   bandwidth(numbers, link + "/bandwidth"), bandwidth(numbers, link + "/shared_bandwidth"),
                   provenance(numbers, link)});
  }
  return table.html();
}

}  // namespace

std::string breakdown_section(const ShownNumbers& numbers) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kParts{
      {{"computation", "computation"},
       {"recomputation", "made again"},
       {"exposed_transfer", "waiting for transfers"},
       {"processor_wait", "waiting for processors"},
       {"other", "other"},
       {"overlapped_transfer", "transfers hidden behind it"}}};
  std::vector<TableColumn> columns{{"planner"}};
  for (const auto& [key, title] : kParts) columns.push_back({std::string(title), Align::kRight});
  HtmlTable table(columns);
  const bool executed = numbers.at("/comparison/executed") == true;
  for (std::size_t i = 0; i < numbers.at("/comparison/results").size(); ++i) {
    const std::string row = entry("/comparison/results", i);
    const std::string parts = parts_of(numbers, row);
    if (!numbers.has(parts)) continue;
    const bool predicted = executed && !numbers.has(row + "/measured_parts_ms");
    std::vector<std::string> cells{code(numbers.text(row + "/planner")) + (predicted ? " (predicted)" : "")};
    for (const auto& [key, title] : kParts) cells.push_back(numbers.milliseconds(fmt::format("{}/{}", parts, key)));
    table.add_row(std::move(cells));
  }
  const std::string how = executed ? "Measured, but for this step, which is predicted." : "Simulated.";
  return page_section("breakdown", "Where the time goes" + note_of_emulation(numbers),
                      caption(how + " The first five add up to the step; hidden transfers are within them.") +
                          chart_place("breakdown", "Parts of the step's time, a bar for each planner") +
                          folded_table("The numbers", table));
}

std::string tensors_section(const ShownNumbers& numbers) {
  HtmlTable table({{"tensor"}, {"role"}, {"bytes", Align::kRight}, {"shape"}, {"what happens to it"}});
  for (const json& index : numbers.at("/largest")) {
    const std::string tensor = entry("/tensors", index.get<std::size_t>());
    std::string role = numbers.text(tensor + "/role");
    std::ranges::replace(role, '_', ' ');
    table.add_row({code(numbers.text(tensor + "/name")), role, numbers.bytes(tensor + "/bytes"),
                   numbers.text(tensor + "/shape"), numbers.text(tensor + "/story")},
                  fmt::format("data-tensor=\"{}\" tabindex=\"0\"", index.get<std::size_t>()));
  }
  return page_section("tensors", "The largest tensors",
                      caption("What the plan does with each. Ops are counted as the plan runs them; pointing at a row "
                              "shows its places in the charts above.") +
                          table.html());
}

std::string machine_section(const ShownNumbers& numbers) {
  const std::string how = numbers.text("/how_measured");
  std::string html = fmt::format("<p>{}, {} threads; sluice {}, {}.</p>\n", numbers.text("/run/cpu"),
                                 numbers.count("/run/threads"), numbers.text("/run/sluice"), numbers.text("/run/date"));
  html += caption(how) + tiers_table(numbers) + links_table(numbers);
  return page_section("machine", "The machine, and how it was measured", html);
}

std::string commands_section(const ShownNumbers& numbers) {
  HtmlTable table({{"what"}, {"command"}});
  for (std::size_t i = 0; i < numbers.at("/commands").size(); ++i) {
    const std::string command = entry("/commands", i);
    table.add_row({numbers.text(command + "/what"), code(numbers.text(command + "/command"))});
  }
  return page_section("commands", "Commands", table.html());
}

}  // namespace sluice::report
