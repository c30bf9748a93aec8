// Reads fields of a JSON document with errors that name the place by its JSON pointer ("/residencies/3/offset").
// A reader points into the document, which must outlive it. Nothing throws; numbers out of range are errors.
#pragma once

#include <concepts>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sluice/base/result.hpp"

namespace sluice {

class JsonReader {
 public:
  JsonReader(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  // kBadInput when the key is missing or its value has another type.
  template <typename T>
  Status read(const char* key, T& target) const {
    SLUICE_ASSIGN(const JsonReader field, find(key));
    return field.convert(target);
  }
  Result<JsonReader> object(const char* key) const;
  Result<std::vector<JsonReader>> list(const char* key) const;

  Error error(const char* key, const std::string& message) const;

 private:
  Result<JsonReader> find(const char* key) const;
  Result<std::vector<JsonReader>> elements() const;
  Error wrong_type(const std::string& expected) const;

  Status convert(std::string& target) const;
  Status convert(double& target) const;
  Status convert(std::pair<std::string, std::string>& target) const;

  template <std::signed_integral T>
  Status convert(T& target) const {
    if (!value_->is_number_integer()) return wrong_type("a whole number");
    const bool too_large = value_->is_number_unsigned() && !std::in_range<T>(value_->get<std::uint64_t>());
    if (too_large || !std::in_range<T>(value_->get<std::int64_t>())) return wrong_type("a number within range");
    target = value_->get<T>();
    return {};
  }

  template <typename T>
  Status convert(std::vector<T>& target) const {
    SLUICE_ASSIGN(const std::vector<JsonReader> readers, elements());
    target.clear();
    for (const JsonReader& reader : readers) {
      T element{};
      SLUICE_RETURN_IF_ERROR(reader.convert(element));
      target.push_back(std::move(element));
    }
    return {};
  }

  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace sluice
