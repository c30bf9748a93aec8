#include "sluice/report/characterization_text.hpp"

#include <fmt/format.h>

#include <numeric>

#include "sluice/report/text_table.hpp"

namespace sluice::report {
namespace {

double real(std::int64_t number) { return static_cast<double>(number); }

std::string count_text(std::int64_t count) { return fmt::format("{}", count); }

std::string section(std::string_view title, const std::string& body) { return fmt::format("\n{}\n\n{}", title, body); }

std::string lifetimes_text(const Lifetimes& lifetimes) {
  TextTable table({{"tensors", Align::kLeft, 0},
                   {"count", Align::kRight, 0},
                   {"share", Align::kRight, 0},
                   {"small", Align::kRight, 0},
                   {"of them", Align::kRight, 0},
                   {"bytes", Align::kRight, 0},
                   {"share", Align::kRight, 0}});
  const TensorGroup short_lived = lifetimes.short_lived.all();
  const TensorGroup long_lived = lifetimes.long_lived.all();
  const auto add = [&](const std::string& name, const BySize& tensors) {
    const TensorGroup all = tensors.all();
    table.add_row({name, count_text(all.tensors),
                   format_share(real(all.tensors), real(short_lived.tensors + long_lived.tensors)),
                   count_text(tensors.small.tensors), format_share(real(tensors.small.tensors), real(all.tensors)),
                   format_bytes(all.bytes), format_share(real(all.bytes), real(short_lived.bytes + long_lived.bytes))});
  };
  add("short-lived", lifetimes.short_lived);
  add("long-lived", lifetimes.long_lived);
  add("  of them persistent", lifetimes.persistent);
  return table.text();
}

std::string histogram_text(const Lifetimes& lifetimes) {
  TextTable table({{"layers", Align::kRight, 0},
                   {"small", Align::kRight, 0},
                   {"large", Align::kRight, 0},
                   {"share", Align::kRight, 0},
                   {"bytes", Align::kRight, 0}});
  const double all = real(lifetimes.short_lived.all().tensors + lifetimes.long_lived.all().tensors);
  for (const Lifetimes::Row& row : lifetimes.rows) {
    table.add_row({row.bucket.name, count_text(row.tensors.small.tensors), count_text(row.tensors.large.tensors),
                   format_share(real(row.tensors.all().tensors), all), format_bytes(row.tensors.all().bytes)});
  }
  return table.text();
}

std::string distances_text(const Distances& distances, bool counted) {
  std::vector<TableColumn> columns{{"layers between", Align::kRight, 0},
                                   {"uses", Align::kRight, 0},
                                   {"share", Align::kRight, 0},
                                   {"bytes used", Align::kRight, 0}};
  if (counted) columns.insert(columns.end(), {{"accesses", Align::kRight, 0}, {"share", Align::kRight, 0}});
  TextTable table(columns);
  std::vector<Distances::Row> rows = distances.rows;
  rows.push_back(distances.first_uses);
  double uses = 0;
  double accesses = 0;
  for (const Distances::Row& row : rows) {
    uses += real(row.uses);
    accesses += real(row.accesses);
  }
  for (const Distances::Row& row : rows) {
    std::vector<std::string> cells{row.bucket.name, count_text(row.uses), format_share(real(row.uses), uses),
                                   format_bytes(row.bytes)};
    if (counted) {
      cells.push_back(count_text(row.accesses));
      cells.push_back(format_share(real(row.accesses), accesses));
    }
    table.add_row(cells);
  }
  return table.text();
}

std::string heat_text(const HotAndCold& heat) {
  TextTable table({{"accesses a page", Align::kRight, 0},
                   {"tensors", Align::kRight, 0},
                   {"share", Align::kRight, 0},
                   {"bytes", Align::kRight, 0},
                   {"share", Align::kRight, 0},
                   {"live at most", Align::kRight, 0},
                   {"of all accesses", Align::kRight, 0}});
  HotAndCold::Row all;
  for (const HotAndCold::Row& row : heat.rows) {
    all.tensors.tensors += row.tensors.tensors;
    all.tensors.bytes += row.tensors.bytes;
    all.accesses += row.accesses;
  }
  for (std::size_t i = 0; i < kHeats; ++i) {
    const HotAndCold::Row& row = heat.rows[i];
    table.add_row({std::string(to_string(static_cast<Heat>(i))), count_text(row.tensors.tensors),
                   format_share(real(row.tensors.tensors), real(all.tensors.tensors)), format_bytes(row.tensors.bytes),
                   format_share(real(row.tensors.bytes), real(all.tensors.bytes)), format_bytes(row.peak),
                   format_share(real(row.accesses), real(all.accesses))});
  }
  return table.text();
}

std::string false_sharing_text(const FalseSharing& sharing) {
  TextTable table({{"accesses a page", Align::kRight, 0},
                   {"tensors", Align::kRight, 0},
                   {"on pages < 10", Align::kRight, 0},
                   {"10-100", Align::kRight, 0},
                   {"> 100", Align::kRight, 0},
                   {"pages", Align::kRight, 0}});
  for (std::size_t i = 0; i < kHeats; ++i) {
    table.add_row({std::string(to_string(static_cast<Heat>(i))), format_bytes(sharing.tensor_bytes[i]),
                   format_bytes(sharing.bytes_of[i][0]), format_bytes(sharing.bytes_of[i][1]),
                   format_bytes(sharing.bytes_of[i][2]), format_bytes(sharing.page_bytes[i])});
  }
  const Bytes all = std::accumulate(sharing.tensor_bytes.begin(), sharing.tensor_bytes.end(), Bytes{0});
  const Bytes again = sharing.misclassed - sharing.misclassed_together;
  return table.text() +
         fmt::format(
             "\n{} ({}) of the tensors' bytes lie on pages that seem hotter than they are: {} because of tensors\n"
             "that live on the page at the same time, {} because others use the page later or before.\n",
             format_bytes(sharing.misclassed), format_share(real(sharing.misclassed), real(all)),
             format_bytes(sharing.misclassed_together), format_bytes(again));
}

std::string where(const graph::Graph& graph, graph::OpIndex op) {
  const graph::Op& at = graph.op(op);
  return fmt::format("during {} ({})", at.name, to_string(at.phase));
}

std::string memory_text(const graph::Graph& graph, const Characterization& found) {
  const graph::FastMemoryBound& bound = found.bound;
  const std::string largest = bound.largest_long_lived < 0
                                  ? "there is none"
                                  : fmt::format("{}, {}", format_bytes(bound.largest_long_lived_bytes),
                                                graph.tensor(bound.largest_long_lived).name);
  return format_fields({
      {"peak of live bytes", fmt::format("{}, {}", format_bytes(found.live.peak), where(graph, found.live.peak_op))},
      {"peak of short-lived tensors",
       fmt::format("{}, {}", format_bytes(bound.short_lived_peak), where(graph, bound.short_lived_peak_op))},
      {"largest long-lived tensor", largest},
      {"lower bound on fast memory", fmt::format("{}, {} of the peak: the two together", format_bytes(bound.bytes()),
                                                 format_share(real(bound.bytes()), real(found.live.peak)))},
  });
}

}  // namespace

std::string_view to_string(Heat heat) {
  switch (heat) {
    case Heat::kCold:
      return "< 10";
    case Heat::kWarm:
      return "10-100";
    case Heat::kHot:
      return "> 100";
  }
  return "?";
}

std::string format_share(double part, double whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100 * part / whole);
}

std::string describe_characterization(const graph::Graph& graph, const graph::Liveness& liveness,
                                      const Characterization& found) {
  std::string text = fmt::format("{} ops in {} layers (each a run of ops of one model layer, forward or backward)\n",
                                 graph.op_count(), liveness.spans.size());
  text += section("Short-lived: live within one layer. Small: below 4 KiB (Sentinel III-B, observation 1)",
                  lifetimes_text(found.lifetimes));
  text += section("Lifetimes in layers (ReDL II-B, figure 2)", histogram_text(found.lifetimes));
  text += section("Layers from the use before to this use (ReDL II-B, figure 3)",
                  distances_text(found.distances, found.heat.has_value()));
  if (found.heat) {
    text +=
        section("Hot and cold tensors, by the accesses of their average page (observation 2)", heat_text(*found.heat));
  }
  if (found.false_sharing) {
    text += section("Bytes as counted by tensor, and by page where a framework's allocator puts them (observation 3)",
                    false_sharing_text(*found.false_sharing));
  }
  return text + section("Memory over the step (Sentinel IV-E)", memory_text(graph, found));
}

std::string describe_page_migration(std::span<const PageMigrationCase> cases) {
  TextTable table({{"page", Align::kRight, 0},
                   {"fast budget", Align::kRight, 0},
                   {"allocation order", Align::kRight, 0},
                   {"freed data known", Align::kRight, 0},
                   {"reorganised", Align::kRight, 0},
                   {"saved", Align::kRight, 0}});
  bool any = false;
  std::string problems;
  for (const PageMigrationCase& each : cases) {
    if (!each.comparison.ok()) {
      problems += fmt::format("{} pages: {}\n", format_bytes(each.page_bytes), each.comparison.error().message);
      continue;
    }
    any = true;
    const layout::PageMigrationComparison& moved = *each.comparison;
    const Bytes before = moved.allocation_order.total();
    table.add_row({format_bytes(each.page_bytes), format_bytes(each.fast_budget), format_bytes(before),
                   format_bytes(moved.freed_known.total()), format_bytes(moved.reorganized.total()),
                   format_share(real(before - moved.reorganized.total()), real(before))});
  }
  return section(
      "Bytes moved a step by a system that moves pages (simulated): tensors where a framework's allocator puts\n"
      "them, the same with freed tensors never moved, and in blocks of tensors with the same life",
      (any ? table.text() : "") + problems);
}

std::string describe_access_method(const profile::AccessProfile& profile) {
  std::string text = fmt::format("accesses: {}, {}, TLB reach {}, chunks up to {}", to_string(profile.provenance),
                                 profile.method, format_bytes(profile.tlb_reach), format_bytes(profile.largest_chunk));
  text += fmt::format("; the counted step took {}, a normal one {}\n", format_seconds(profile.profiled_step),
                      format_seconds(profile.normal_step));
  for (const std::string& note : profile.notes) text += fmt::format("accesses: {}\n", note);
  return text;
}

}  // namespace sluice::report
