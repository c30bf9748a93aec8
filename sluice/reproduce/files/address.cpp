#include "sluice/reproduce/files/address.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "sluice/reproduce/files/kept_name.hpp"

namespace sluice {
namespace {

using nlohmann::json;

struct Condition {
  std::string key, value;
};

std::string unescape_step(std::string_view step) {
  std::string text;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const char next = i + 1 < step.size() ? step[i + 1] : '\0';
    const bool escaped = step[i] == '~' && (next == '0' || next == '1');
    text += !escaped ? step[i] : next == '0' ? '~' : '/';
    if (escaped) ++i;
  }
  return text;
}

std::string escape_step(std::string_view step) {
  std::string text;
  for (const char each : step) text += each == '~' ? "~0" : each == '/' ? "~1" : std::string(1, each);
  return text;
}

// Of "key=value&other=value"; nothing where a part is no condition.
std::optional<std::vector<Condition>> conditions_of(std::string_view step) {
  std::vector<Condition> conditions;
  while (true) {
    const std::size_t end = step.find('&');
    const std::string_view part = step.substr(0, end);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    conditions.push_back({std::string(part.substr(0, equals)), std::string(part.substr(equals + 1))});
    if (end == std::string_view::npos) return conditions;
    step.remove_prefix(end + 1);
  }
}

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string words_of(const json& list) {
  std::vector<std::string> words;
  for (const json& each : list) words.push_back(each.is_string() ? each.get<std::string>() : each.dump());
  return fmt::format("{}", fmt::join(words, ","));
}

bool has_value(const json& value, const std::string& text) {
  if (value.is_array()) return words_of(value) == text;
  if (value.is_string()) return value.get_ref<const std::string&>() == text;
  if (value.is_boolean()) return text == (value.get<bool>() ? "true" : "false");
  return value.is_number() && number_of(text) == value.get<double>();
}

bool meets(const json& element, const std::vector<Condition>& conditions) {
  if (!element.is_object()) return false;
  for (const Condition& condition : conditions) {
    const auto found = element.find(condition.key);
    if (found == element.end() || !has_value(*found, condition.value)) return false;
  }
  return true;
}

// One walk: the address, and what it has found so far.
class Walk {
 public:
  explicit Walk(const Address& address) : address_(address) {}

  Status from(const json& value, std::size_t step, bool simulated) {
    if (value.is_object()) {
      const auto said = value.find("simulated");
      simulated = simulated || (said != value.end() && said->is_boolean() && said->get<bool>());
    }
    if (step == address_.steps.size()) return add(value, simulated);
    const std::string& name = address_.steps[step];
    if (name == "*" || name == "?*") return into_all(value, step, simulated, name == "?*");
    if (value.is_object()) {
      const auto found = value.find(name);
      if (found == value.end()) return wrong(step, fmt::format("no \"{}\"", name));
      return from(*found, step + 1, simulated);
    }
    if (!value.is_array()) return wrong(step, "nothing to step into");
    return into_list(value, step, simulated);
  }

  std::vector<AddressedNumber> found() && { return std::move(found_); }

 private:
  Error wrong(std::size_t step, const std::string& what) const {
    Address until = address_;
    until.steps.resize(step);
    return bad_input(fmt::format("{} in {}", what, until.text()));
  }

  Status add(const json& value, bool simulated) {
    if (value.is_null()) return wrong(address_.steps.size(), "null");
    if (!value.is_number()) return wrong(address_.steps.size(), "no number");
    const auto number = value.get<double>();
    if (!std::isfinite(number)) return wrong(address_.steps.size(), "no finite number");
    found_.push_back({number, simulated});
    return {};
  }

  Status into_all(const json& value, std::size_t step, bool simulated, bool skips) {
    if (!value.is_array() && !value.is_object()) return wrong(step, "no list");
    for (const json& element : value) {
      Walk inner(address_);
      const Status walked = inner.from(element, step + 1, simulated);
      if (!walked.ok() && !skips) return walked;
      if (walked.ok()) found_.insert(found_.end(), inner.found_.begin(), inner.found_.end());
    }
    return {};
  }

  Status into_list(const json& list, std::size_t step, bool simulated) {
    const std::string& name = address_.steps[step];
    const bool all = name.starts_with('*');
    const auto conditions = conditions_of(std::string_view(name).substr(all ? 1 : 0));
    if (!conditions) return into_element(list, step, simulated);
    std::size_t met = 0;
    const json* last = nullptr;
    for (const json& element : list) {
      if (!meets(element, *conditions)) continue;
      ++met;
      last = &element;
      if (all) SLUICE_RETURN_IF_ERROR(from(element, step + 1, simulated));
    }
    if (met == 0) return wrong(step, fmt::format("no element with {}", name));
    if (all) return {};
    if (met > 1) return wrong(step, fmt::format("{} elements with {} (add &key=value)", met, name));
    return from(*last, step + 1, simulated);
  }

  Status into_element(const json& list, std::size_t step, bool simulated) {
    const std::string& name = address_.steps[step];
    std::size_t index = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), index);
    if (failure != std::errc() || end != name.data() + name.size()) {
      return wrong(step, fmt::format("\"{}\" is no step into a list", name));
    }
    if (index >= list.size()) return wrong(step, fmt::format("{} elements, none of number {}", list.size(), index));
    return from(list[index], step + 1, simulated);
  }

  const Address& address_;
  std::vector<AddressedNumber> found_;
};

}  // namespace

std::string Address::text() const {
  std::string path = kept + "#";
  for (const std::string& step : steps) path += fmt::format("/{}", escape_step(step));
  return path;
}

Result<Address> parse_address(std::string_view text) {
  const std::size_t hash = text.find('#');
  if (hash == std::string_view::npos) return bad_input(fmt::format("\"{}\" is no address, KEPT#/path", text));
  Address address{std::string(text.substr(0, hash)), {}};
  SLUICE_RETURN_IF_ERROR(check_kept_name(address.kept));
  std::string_view path = text.substr(hash + 1);
  if (path.empty()) return bad_input(fmt::format("\"{}\" has no path behind #", text));
  while (!path.empty()) {
    if (path.front() != '/') return bad_input(fmt::format("the path of \"{}\" has to begin with /", text));
    path.remove_prefix(1);
    const std::size_t end = path.find('/');
    address.steps.push_back(unescape_step(path.substr(0, end)));
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  }
  return address;
}

Result<std::vector<AddressedNumber>> numbers_at(const json& document, const Address& address) {
  Walk walk(address);
  SLUICE_RETURN_IF_ERROR(walk.from(document, 0, false));
  return std::move(walk).found();
}

}  // namespace sluice
