#include "sluice/reproduce/files/paper_item.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <set>
#include <utility>

#include "sluice/reproduce/files/hand_written_file.hpp"
#include "sluice/reproduce/files/kept_name.hpp"

namespace sluice {
namespace {

constexpr std::array kBetter = {Better::kHigher, Better::kLower, Better::kNeither};
constexpr std::array<std::string_view, 5> kPapers = {"Sentinel", "ReDL", "AutoTM", "HOME", "ZeRO-Offload"};

Status read_text(const JsonReader& reader, const char* key, std::string& text) {
  SLUICE_RETURN_IF_ERROR(reader.read(key, text));
  if (text.empty()) return reader.error(key, "is empty");
  return {};
}

// A number, or [low, high].
Status read_published(const JsonReader& reader, Published& published) {
  if (!reader.value().is_array()) {
    SLUICE_RETURN_IF_ERROR(reader.read(published.low));
    published.high = published.low;
    return {};
  }
  std::vector<double> ends;
  SLUICE_RETURN_IF_ERROR(reader.read(ends));
  if (ends.size() != 2 || !(ends[0] <= ends[1])) return reader.error("expected a number or [low, high]");
  published = {ends[0], ends[1]};
  return {};
}

Status read_batch(const JsonReader& reader, std::string& batch) {
  if (reader.value().is_string()) return reader.read(batch);
  std::int64_t number = 0;
  SLUICE_RETURN_IF_ERROR(reader.read(number));
  if (number <= 0) return reader.error("expected a batch above zero");
  batch = fmt::format("{}", number);
  return {};
}

Status read_addressed(const JsonReader& reader, PaperRow& row) {
  SLUICE_RETURN_IF_ERROR(read_text(reader, "model", row.model));
  SLUICE_RETURN_IF_ERROR(read_text(reader, "setting", row.setting));
  SLUICE_RETURN_IF_ERROR(read_text(reader, "published_from", row.published_from));
  SLUICE_RETURN_IF_ERROR(reader.read("unit", row.unit));
  SLUICE_RETURN_IF_ERROR(reader.read_word("better", kBetter, row.better));
  SLUICE_ASSIGN(const JsonReader published, reader.find("published"));
  SLUICE_RETURN_IF_ERROR(read_published(published, row.published));
  SLUICE_ASSIGN(const JsonReader ours, reader.find("ours"));
  SLUICE_ASSIGN(row.ours, read_expression(ours));
  return {};
}

Status read_row(const JsonReader& reader, PaperRow& row) {
  SLUICE_RETURN_IF_ERROR(check_fields(reader, {"what", "model", "batch", "scaled", "setting", "published",
                                               "published_from", "unit", "better", "ours", "not_addressed"}));
  SLUICE_RETURN_IF_ERROR(read_text(reader, "what", row.what));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("scaled", row.scaled));
  if (reader.has("batch")) {
    SLUICE_ASSIGN(const JsonReader batch, reader.find("batch"));
    SLUICE_RETURN_IF_ERROR(read_batch(batch, row.batch));
  }
  if (!reader.has("not_addressed")) return read_addressed(reader, row);
  if (reader.has("ours")) return reader.error("has both \"ours\" and \"not_addressed\"");
  return read_text(reader, "not_addressed", row.not_addressed);
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return text;
}

// sentinel-figure-7, zero-offload-table-5.1
Status check_id(const JsonReader& reader, const PaperItem& item) {
  const std::string paper = lower_case(item.paper) + "-";
  const std::string_view rest = std::string_view(item.id).substr(std::min(paper.size(), item.id.size()));
  const bool good = item.id.starts_with(paper) && (rest.starts_with("figure-") || rest.starts_with("table-")) &&
                    !rest.ends_with('-') &&
                    rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string_view::npos;
  if (good) return {};
  return reader.error("id", fmt::format("\"{}\" is not like {}figure-7 or {}table-2", item.id, paper, paper));
}

Status check_kept(const JsonReader& reader, const PaperItem& item) {
  for (const std::string& name : item.kept) {
    if (const Status good = check_kept_name(name); !good.ok()) return reader.error("kept", good.error().message);
    if (std::ranges::count(item.kept, name) > 1) return reader.error("kept", fmt::format("{} stands twice", name));
  }
  for (std::size_t i = 0; i < item.rows.size(); ++i) {
    const std::set<std::string> reads = item.rows[i].ours.kept();
    if (reads.empty() && item.rows[i].not_addressed.empty()) {
      return reader.error("rows", fmt::format("row {} reads no kept result: our figure would be written by hand", i));
    }
    for (const std::string& name : reads) {
      if (std::ranges::find(item.kept, name) != item.kept.end()) continue;
      return reader.error("rows", fmt::format("row {} reads {}, which is not in \"kept\"", i, name));
    }
  }
  return {};
}

}  // namespace

Status read_json(const JsonReader& reader, PaperItem& item) {
  SLUICE_RETURN_IF_ERROR(
      check_fields(reader, {"id", "paper", "item", "title", "kept", "notes", "rows", "not_addressed"}));
  SLUICE_RETURN_IF_ERROR(reader.read("id", item.id));
  SLUICE_RETURN_IF_ERROR(reader.read("paper", item.paper));
  SLUICE_RETURN_IF_ERROR(read_text(reader, "item", item.item));
  SLUICE_RETURN_IF_ERROR(read_text(reader, "title", item.title));
  if (std::ranges::find(kPapers, item.paper) == kPapers.end()) {
    return reader.error("paper", fmt::format("\"{}\" is none of: {}", item.paper, fmt::join(kPapers, ", ")));
  }
  SLUICE_RETURN_IF_ERROR(check_id(reader, item));
  SLUICE_RETURN_IF_ERROR(reader.read_if_present("notes", item.notes));
  if (reader.has("not_addressed")) {
    if (reader.has("rows") || reader.has("kept")) return reader.error("has \"not_addressed\" and rows");
    return read_text(reader, "not_addressed", item.not_addressed);
  }
  SLUICE_RETURN_IF_ERROR(reader.read("kept", item.kept));
  SLUICE_ASSIGN(const std::vector<JsonReader> rows, reader.list("rows"));
  for (const JsonReader& each : rows) SLUICE_RETURN_IF_ERROR(read_row(each, item.rows.emplace_back()));
  if (item.rows.empty()) return reader.error("rows", "is empty");
  return check_kept(reader, item);
}

}  // namespace sluice
