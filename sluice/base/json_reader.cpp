#include "sluice/base/json_reader.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

constexpr std::size_t kMostShown = 40;  // bytes of a wrong value

// The beginning of text, without a part of a character at its end.
std::string beginning_of(const std::string& text) {
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; };
  std::size_t end = kMostShown;
  while (end > 0 && continues(text[end])) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

Result<JsonReader> JsonReader::object(const char* key) const {
  SLUICE_ASSIGN(JsonReader field, find(key));
  if (!field.value_->is_object()) return field.wrong_type("an object");
  return field;
}

Result<std::vector<JsonReader>> JsonReader::list(const char* key) const {
  SLUICE_ASSIGN(const JsonReader field, find(key));
  return field.elements();
}

Status JsonReader::read_figure(const char* key, double& target) const {
  SLUICE_ASSIGN(const JsonReader field, find(key));
  double figure = 0;
  SLUICE_RETURN_IF_ERROR(field.convert(figure));
  if (!std::isfinite(figure) || figure < 0) return field.wrong_type("a number from 0");
  if (figure > kMostFigure) return field.wrong_type(fmt::format("a number up to {:g}", kMostFigure));
  target = figure < kLeastFigure ? 0 : figure;
  return {};
}

Error JsonReader::error(const std::string& message) const {
  return {ErrorCode::kBadInput, fmt::format("{}: {}", path_.empty() ? "/" : path_, message)};
}

Error JsonReader::error(const char* key, const std::string& message) const {
  return {ErrorCode::kBadInput, fmt::format("{}/{}: {}", path_, key, message)};
}

Result<JsonReader> JsonReader::find(const char* key) const {
  if (!value_->is_object()) return wrong_type("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) return error(key, "missing");
  return JsonReader(*found, path_ + "/" + key);
}

Result<std::vector<JsonReader>> JsonReader::elements() const {
  if (!value_->is_array()) return wrong_type("a list");
  std::vector<JsonReader> readers;
  for (const nlohmann::json& element : *value_) {
    readers.push_back(JsonReader(element, fmt::format("{}/{}", path_, readers.size())));
  }
  return readers;
}

Error JsonReader::wrong_type(const std::string& expected) const {
  std::string shown = value_->dump();
  if (shown.size() > kMostShown) shown = beginning_of(shown);
  return error(fmt::format("expected {}, found {}", expected, shown));
}

Status JsonReader::convert(std::string& target) const {
  if (!value_->is_string()) return wrong_type("text");
  target = value_->get<std::string>();
  return {};
}

Status JsonReader::convert(bool& target) const {
  if (!value_->is_boolean()) return wrong_type("true or false");
  target = value_->get<bool>();
  return {};
}

Status JsonReader::convert(double& target) const {
  if (!value_->is_number()) return wrong_type("a number");
  target = value_->get<double>();
  return {};
}

Status JsonReader::convert(float& target) const {
  double wide = 0;
  SLUICE_RETURN_IF_ERROR(convert(wide));
  if (std::abs(wide) > static_cast<double>(std::numeric_limits<float>::max()))
    return wrong_type("a number within range");
  target = static_cast<float>(wide);
  return {};
}

Status JsonReader::convert(nlohmann::json& target) const {
  target = *value_;
  return {};
}

Status JsonReader::convert(std::pair<std::string, std::string>& target) const {
  std::vector<std::string> both;
  SLUICE_RETURN_IF_ERROR(convert(both));
  if (both.size() != 2) return wrong_type("[key, value]");
  target = {both[0], both[1]};
  return {};
}

}  // namespace sluice
