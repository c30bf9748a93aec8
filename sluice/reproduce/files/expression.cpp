#include "sluice/reproduce/files/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

using Numbers = std::vector<double>;

struct OperationRule {
  std::string_view name;
  std::size_t least, most;  // how many numbers it takes
  double (*compute)(const Numbers& numbers);
};

constexpr std::size_t kMany = std::numeric_limits<std::size_t>::max();

double sum_of(const Numbers& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

double product_of(const Numbers& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 1.0, std::multiplies<>());
}

// Not a number, where one of them is not above zero.
double geometric_mean_of(const Numbers& numbers) {
  double logarithms = 0;
  for (const double number : numbers) {
    if (!(number > 0)) return std::numeric_limits<double>::quiet_NaN();
    logarithms += std::log(number);
  }
  return std::exp(logarithms / static_cast<double>(numbers.size()));
}

constexpr std::array<OperationRule, 10> kRules = {{
    {"add", 1, kMany, sum_of},
    {"subtract", 2, 2, [](const Numbers& n) { return n[0] - n[1]; }},
    {"multiply", 1, kMany, product_of},
    {"divide", 2, 2, [](const Numbers& n) { return n[0] / n[1]; }},
    {"mean", 1, kMany, [](const Numbers& n) { return sum_of(n) / static_cast<double>(n.size()); }},
    {"geometric_mean", 1, kMany, geometric_mean_of},
    {"max", 1, kMany, [](const Numbers& n) { return *std::ranges::max_element(n); }},
    {"min", 1, kMany, [](const Numbers& n) { return *std::ranges::min_element(n); }},
    {"count", 0, kMany, [](const Numbers& n) { return static_cast<double>(n.size()); }},
    {"percent", 1, 1, [](const Numbers& n) { return 100 * n[0]; }},
}};

const OperationRule* rule_of(std::string_view name) {
  const auto found = std::ranges::find(kRules, name, &OperationRule::name);
  return found == kRules.end() ? nullptr : &*found;
}

std::string known_operations() {
  std::vector<std::string_view> names;
  for (const OperationRule& rule : kRules) names.push_back(rule.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<std::vector<Expression>> read_parts(const JsonReader& reader) {
  std::vector<Expression> parts;
  if (!reader.value().is_array()) {
    SLUICE_ASSIGN(Expression only, read_expression(reader));
    parts.push_back(std::move(only));
    return parts;
  }
  SLUICE_ASSIGN(const std::vector<JsonReader> elements, reader.elements());
  for (const JsonReader& element : elements) {
    SLUICE_ASSIGN(Expression part, read_expression(element));
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<std::vector<AddressedNumber>> numbers_of(const Expression& expression, const FindDocument& find);

Result<AddressedNumber> compute(const Expression::Operation& operation, const FindDocument& find) {
  const OperationRule& rule = *rule_of(operation.name);
  Numbers numbers;
  bool simulated = false;
  for (const Expression& part : operation.parts) {
    SLUICE_ASSIGN(const std::vector<AddressedNumber> found, numbers_of(part, find));
    for (const AddressedNumber& each : found) {
      numbers.push_back(each.value);
      simulated = simulated || each.simulated;
    }
  }
  if (numbers.size() < rule.least || numbers.size() > rule.most) {
    return bad_input(fmt::format("{} of {} numbers", rule.name, numbers.size()));
  }
  const double value = rule.compute(numbers);
  if (!std::isfinite(value)) return bad_input(fmt::format("{} gives no finite number", rule.name));
  return AddressedNumber{value, simulated};
}

Result<std::vector<AddressedNumber>> numbers_of(const Expression& expression, const FindDocument& find) {
  if (const auto* number = std::get_if<double>(&expression.value))
    return std::vector<AddressedNumber>{{*number, false}};
  if (const auto* address = std::get_if<Address>(&expression.value)) {
    SLUICE_ASSIGN(const nlohmann::json* document, find(address->kept));
    return numbers_at(*document, *address);
  }
  SLUICE_ASSIGN(const AddressedNumber computed, compute(std::get<Expression::Operation>(expression.value), find));
  return std::vector<AddressedNumber>{computed};
}

}  // namespace

std::set<std::string> Expression::kept() const {
  if (const auto* address = std::get_if<Address>(&value)) return {address->kept};
  std::set<std::string> names;
  if (const auto* operation = std::get_if<Operation>(&value)) {
    for (const Expression& part : operation->parts) names.merge(part.kept());
  }
  return names;
}

Result<Expression> read_expression(const JsonReader& reader) {
  const nlohmann::json& value = reader.value();
  if (value.is_number()) return Expression{value.get<double>()};
  if (value.is_string()) {
    Result<Address> address = parse_address(value.get_ref<const std::string&>());
    if (!address.ok()) return reader.error(address.error().message);
    return Expression{*std::move(address)};
  }
  if (!value.is_object() || value.size() != 1) {
    return reader.error(
        fmt::format("expected a number, \"KEPT#/path\" or an object with one of: {}", known_operations()));
  }
  const std::string name = value.begin().key();
  if (rule_of(name) == nullptr) return reader.error(fmt::format("unknown \"{}\"; known: {}", name, known_operations()));
  SLUICE_ASSIGN(const JsonReader of, reader.find(name.c_str()));
  SLUICE_ASSIGN(std::vector<Expression> parts, read_parts(of));
  return Expression{Expression::Operation{name, std::move(parts)}};
}

Result<Evaluated> evaluate(const Expression& expression, const FindDocument& find) {
  SLUICE_ASSIGN(const std::vector<AddressedNumber> numbers, numbers_of(expression, find));
  if (numbers.size() != 1) {
    return bad_input(fmt::format("{} numbers where one is wanted (a mean, a maximum?)", numbers.size()));
  }
  return Evaluated{numbers.front().value, numbers.front().simulated};
}

}  // namespace sluice
