#include "sluice/report/characterization_json.hpp"

#include "sluice/report/bound_note.hpp"

namespace sluice::report {
namespace {

using nlohmann::json;

json group_json(const TensorGroup& group) { return {{"tensors", group.tensors}, {"bytes", group.bytes}}; }

json by_size_json(const BySize& tensors) {
  return {{"small", group_json(tensors.small)}, {"large", group_json(tensors.large)}};
}

json lifetimes_json(const Lifetimes& lifetimes) {
  json rows = json::array();
  for (const Lifetimes::Row& row : lifetimes.rows) {
    json each = by_size_json(row.tensors);
    each["layers"] = row.bucket.name;
    rows.push_back(each);
  }
  return rows;
}

json distance_json(const Distances::Row& row, bool counted) {
  json each{{"layers", row.bucket.name}, {"uses", row.uses}, {"bytes", row.bytes}};
  if (counted) each["accesses"] = row.accesses;
  return each;
}

json distances_json(const Distances& distances, bool counted) {
  json rows = json::array();
  for (const Distances::Row& row : distances.rows) rows.push_back(distance_json(row, counted));
  rows.push_back(distance_json(distances.first_uses, counted));
  return rows;
}

json heat_json(const HotAndCold& heat) {
  json rows = json::array();
  for (std::size_t i = 0; i < kHeats; ++i) {
    json each = group_json(heat.rows[i].tensors);
    each["accesses_a_page"] = to_string(static_cast<Heat>(i));
    each["peak_bytes"] = heat.rows[i].peak;
    each["accesses"] = heat.rows[i].accesses;
    rows.push_back(each);
  }
  return rows;
}

json false_sharing_json(const FalseSharing& sharing) {
  json rows = json::array();
  for (std::size_t i = 0; i < kHeats; ++i) {
    rows.push_back({{"accesses_a_page", to_string(static_cast<Heat>(i))},
                    {"tensor_bytes", sharing.tensor_bytes[i]},
                    {"page_bytes", sharing.page_bytes[i]},
                    {"tensor_bytes_by_heat_of_page", sharing.bytes_of[i]}});
  }
  return {{"by_heat", rows},
          {"misclassed_bytes", sharing.misclassed},
          {"misclassed_together_bytes", sharing.misclassed_together}};
}

json live_json(const graph::Graph& graph, const LiveBytes& live) {
  return {{"peak_bytes", live.peak},
          {"peak_op", graph.op(live.peak_op).name},
          {"persistent", live.persistent},
          {"long_lived", live.long_lived},
          {"short_lived", live.short_lived}};
}

json traffic_json(const layout::PageTraffic& traffic) { return {{"in", traffic.in}, {"out", traffic.out}}; }

}  // namespace

json characterization_json(const graph::Graph& graph, const Characterization& found) {
  const bool counted = found.heat.has_value();
  json object{{"layers", found.layers},
              {"short_lived", by_size_json(found.lifetimes.short_lived)},
              {"long_lived", by_size_json(found.lifetimes.long_lived)},
              {"persistent", by_size_json(found.lifetimes.persistent)},
              {"lifetimes", lifetimes_json(found.lifetimes)},
              {"distances", distances_json(found.distances, counted)},
              {"live", live_json(graph, found.live)},
              {"bound", bound_json(graph, found.bound)}};
  if (found.heat) object["hot_and_cold"] = heat_json(*found.heat);
  if (found.false_sharing) object["false_sharing"] = false_sharing_json(*found.false_sharing);
  return object;
}

json page_migration_json(std::span<const PageMigrationCase> cases) {
  json rows = json::array();
  for (const PageMigrationCase& each : cases) {
    json row{{"page_bytes", each.page_bytes}, {"fast_bytes", each.fast_budget}};
    if (each.comparison.ok()) {
      row["allocation_order"] = traffic_json(each.comparison->allocation_order);
      row["freed_known"] = traffic_json(each.comparison->freed_known);
      row["freed_known"] = traffic_json(each.comparison->freed_known);
      row["reorganized"] = traffic_json(each.comparison->reorganized);
    } else {
      row["error"] = each.comparison.error().message;
    }
    rows.push_back(row);
  }
  return rows;
}

json access_method_json(const profile::AccessProfile& profile) {
  return {{"method", profile.method},
          {"tlb_reach", profile.tlb_reach},
          {"largest_chunk", profile.largest_chunk},
          {"normal_ms", profile.normal_step * 1e3},
          {"profiled_ms", profile.profiled_step * 1e3},
          {"provenance", to_string(profile.provenance)},
          {"notes", profile.notes}};
}

}  // namespace sluice::report
