#include "sluice/memory/offsets/allocation_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_map>

#include "sluice/base/as_index.hpp"
#include "sluice/base/parse.hpp"

namespace sluice::memory {
namespace {

constexpr std::array<std::string_view, 4> kColumns{"id", "lower", "upper", "size"};
enum Column : std::size_t { kId, kLower, kUpper, kSize };

// A piece of a line, and where it begins, counted from 1.
struct CsvField {
  std::string_view text;
  std::size_t column = 0;
};

std::vector<CsvField> fields_of(std::string_view line) {
  std::vector<CsvField> fields;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = line.find(',', begin);
    fields.push_back({line.substr(begin, comma - begin), begin + 1});
    if (comma == std::string_view::npos) return fields;
    begin = comma + 1;
  }
}

class AllocationParser {
 public:
  AllocationParser(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  Result<AllocationProblem> parse() {
    if (!next_line()) return bad_input(fmt::format("{}: is empty; its first line must be id,lower,upper,size", name_));
    SLUICE_RETURN_IF_ERROR(read_header());
    while (next_line()) {
      if (!line_.empty()) SLUICE_RETURN_IF_ERROR(read_item());
    }
    count_times();
    return std::move(problem_);
  }

 private:
  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++number_;
    return true;
  }

  Error error_at(std::size_t column, std::string_view what) const {
    return bad_input(fmt::format("{}:{}:{}: {}", name_, number_, column, what));
  }

  Status read_header() {
    const std::vector<CsvField> fields = fields_of(line_);
    for (const CsvField& field : fields) {
      const auto known = std::ranges::find(kColumns, field.text);
      if (known == kColumns.end()) {
        return error_at(field.column, fmt::format("unknown column '{}'; known: id, lower, upper, size", field.text));
      }
      std::optional<std::size_t>& place = places_[as_index(known - kColumns.begin())];
      if (place) return error_at(field.column, fmt::format("column '{}' is there twice", field.text));
      place = as_index(&field - fields.data());
    }
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      if (!places_[i]) return error_at(1, fmt::format("column '{}' is missing", kColumns[i]));
    }
    return {};
  }

  Status read_item() {
    const std::vector<CsvField> fields = fields_of(line_);
    if (fields.size() != kColumns.size()) {
      return error_at(fields.back().column, fmt::format("{} fields where there must be four", fields.size()));
    }
    const auto field = [&](Column column) { return fields[*places_[column]]; };
    Interval<std::int64_t> live;
    Bytes bytes = 0;
    SLUICE_ASSIGN(live.begin, number(field(kLower)));
    SLUICE_ASSIGN(live.end, number(field(kUpper)));
    SLUICE_ASSIGN(bytes, number(field(kSize)));
    if (live.empty()) return error_at(field(kUpper).column, "upper must be greater than lower");
    if (bytes < 0) return error_at(field(kSize).column, "a size must not be negative");
    if (bytes > std::numeric_limits<Bytes>::max() - sum_) {
      return error_at(field(kSize).column, "the sizes so far sum to 2^63 bytes or more");
    }
    sum_ += bytes;
    const auto [known, is_new] = lines_.emplace(field(kId).text, number_);
    if (!is_new) {
      return error_at(field(kId).column, fmt::format("id '{}' is in line {} already", known->first, known->second));
    }
    problem_.ids.emplace_back(field(kId).text);
    problem_.live.push_back(live);
    problem_.items.push_back({.bytes = bytes, .live = {}, .fixed_offset = {}, .alignment = 1});
    return {};
  }

  Result<std::int64_t> number(const CsvField& field) const {
    const Result<std::int64_t> value = parse_integer(field.text);
    return value.ok() ? value : error_at(field.column, value.error().message);
  }

  // Only the order of times matters: they are counted from 0.
  void count_times() {
    std::vector<std::int64_t> times;
    for (const auto& live : problem_.live) times.insert(times.end(), {live.begin, live.end});
    std::ranges::sort(times);
    times.erase(std::unique(times.begin(), times.end()), times.end());
    const auto rank = [&](std::int64_t time) {
      return static_cast<std::int32_t>(std::ranges::lower_bound(times, time) - times.begin());
    };
    for (std::size_t i = 0; i < problem_.items.size(); ++i) {
      problem_.items[i].live = {{rank(problem_.live[i].begin), rank(problem_.live[i].end)}};
    }
  }

  std::string_view rest_;
  const std::string& name_;
  std::string_view line_;
  std::size_t number_ = 0;  // of the line, from 1
  std::array<std::optional<std::size_t>, kColumns.size()> places_;
  std::unordered_map<std::string_view, std::size_t> lines_;  // of each id
  Bytes sum_ = 0;
  AllocationProblem problem_;
};

}  // namespace

Result<AllocationProblem> parse_allocation(std::string_view text, const std::string& name) {
  return AllocationParser(text, name).parse();
}

Result<AllocationProblem> read_allocation(const std::filesystem::path& file) {
  std::ifstream input(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(input), {});
  if (!input) return Error{ErrorCode::kIo, fmt::format("cannot read {}", file.string())};
  return parse_allocation(text, file.string());
}

std::string allocation_csv(const AllocationProblem& problem, std::span<const Bytes> offsets) {
  std::string text = "id,lower,upper,size,offset\n";
  for (std::size_t i = 0; i < problem.ids.size(); ++i) {
    text += fmt::format("{},{},{},{},{}\n", problem.ids[i], problem.live[i].begin, problem.live[i].end,
                        problem.items[i].bytes, offsets[i]);
  }
  return text;
}

}  // namespace sluice::memory
