// Reads a JSON document with errors that name the place by its JSON pointer ("/residencies/3/offset: expected a whole
// number, found "far""). All of Sluice reads JSON by this: what is missing, of another type or out of range is a
// kBadInput error and nothing throws. A reader points into the document, which must outlive it.
//
// Other types are read like the built-in ones, within lists and maps too, if a function like this stands beside them:
//
//   Status read_json(const JsonReader& reader, Timing& timing) {
//     SLUICE_RETURN_IF_ERROR(reader.read_figure("median_seconds", timing.median));
//     return reader.read("samples", timing.samples);
//   }
#pragma once

#include <concepts>
#include <map>
#include <nlohmann/json.hpp>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "sluice/base/result.hpp"

namespace sluice {

inline constexpr double kLeastFigure = 1e-18;
inline constexpr double kMostFigure = 1e18;

class JsonReader {
 public:
  explicit JsonReader(const nlohmann::json& document) : value_(&document) {}

  // The value itself.
  template <typename T>
  Status read(T& target) const {
    return convert(target);
  }

  // The value of a key; kBadInput when it is missing.
  template <typename T>
  Status read(const char* key, T& target) const {
    SLUICE_ASSIGN(const JsonReader field, find(key));
    return field.convert(target);
  }

  // Leaves `target` as it is when the key is missing.
  template <typename T>
  Status read_if_present(const char* key, T& target) const {
    if (value_->is_object() && !has(key)) return {};
    return read(key, target);
  }

  // A time, a rate or a size: 0, or a number from kLeastFigure to kMostFigure, so that what is reckoned with a few of
  // them is neither infinite nor NaN. Smaller ones are 0: differences of measurements may be anything.
  Status read_figure(const char* key, double& target) const;

  Status read_figure_if_present(const char* key, double& target) const {
    return has(key) ? read_figure(key, target) : Status();
  }

  // One of `values`, whose to_string() is its word in the document.
  template <std::ranges::input_range Values>
  Status read_word(const char* key, const Values& values, std::ranges::range_value_t<Values>& target) const {
    std::string word;
    SLUICE_RETURN_IF_ERROR(read(key, word));
    for (const auto& value : values) {
      if (to_string(value) != word) continue;
      target = value;
      return {};
    }
    return error(key, "unknown word '" + word + "'");
  }

  // A text that `parse` understands: Result<T> parse(std::string_view). Its error becomes one of this place.
  template <typename T>
  Status read_parsed(const char* key, Result<T> (*parse)(std::string_view), T& target) const {
    std::string text;
    SLUICE_RETURN_IF_ERROR(read(key, text));
    Result<T> parsed = parse(text);
    if (!parsed.ok()) return error(key, parsed.error().message);
    target = *std::move(parsed);
    return {};
  }

  Result<JsonReader> find(const char* key) const;  // of any type; kBadInput when it is missing
  Result<JsonReader> object(const char* key) const;
  Result<std::vector<JsonReader>> list(const char* key) const;
  Result<std::vector<JsonReader>> elements() const;  // of the value itself
  bool has(const char* key) const { return value_->is_object() && value_->contains(key); }

  Error error(const std::string& message) const;  // about the value itself
  Error error(const char* key, const std::string& message) const;

  Error wrong_type(const std::string& expected) const;  // about the value itself: what was expected, and what is there

  const nlohmann::json& value() const { return *value_; }

 private:
  JsonReader(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  Status convert(std::string& target) const;
  Status convert(bool& target) const;
  Status convert(double& target) const;
  Status convert(float& target) const;
  Status convert(nlohmann::json& target) const;  // as it is
  Status convert(std::pair<std::string, std::string>& target) const;

  template <std::integral T>
  Status convert(T& target) const {
    if (!value_->is_number_integer()) return wrong_type("a whole number");
    const bool within = value_->is_number_unsigned() ? std::in_range<T>(value_->get<std::uint64_t>())
                                                     : std::in_range<T>(value_->get<std::int64_t>());
    if (!within) return wrong_type("a number within range");
    target = value_->get<T>();
    return {};
  }

  template <typename T>
  Status convert(std::vector<T>& target) const {
    if (!value_->is_array()) return wrong_type("a list");
    target.clear();
    for (const nlohmann::json& value : *value_) {  // one reader at a time: lists may be long
      T element{};
      SLUICE_RETURN_IF_ERROR(JsonReader(value, path_ + "/" + std::to_string(target.size())).convert(element));
      target.push_back(std::move(element));
    }
    return {};
  }

  template <typename T>
  Status convert(std::map<std::string, T>& target) const {
    if (!value_->is_object()) return wrong_type("an object");
    target.clear();
    for (const auto& [key, value] : value_->items()) {
      SLUICE_RETURN_IF_ERROR(JsonReader(value, path_ + "/" + key).convert(target[key]));
    }
    return {};
  }

  template <typename T>
  Status convert(T& target) const {
    return read_json(*this, target);
  }

  const nlohmann::json* value_;
  std::string path_;  // a JSON pointer; empty for the whole document
};

}  // namespace sluice
