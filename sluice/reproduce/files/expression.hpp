// What a row of a paper's item says of ours: a number out of kept results, by addresses and a little arithmetic.
//
//   "KEPT#/path" | 1.5 | {"divide": [a, b]} | {"geometric_mean": "KEPT#/rows/*/slowdown"} | ...
//
// add, multiply, mean, geometric_mean, max, min and count take a list of expressions or one, whose lists are joined;
// subtract and divide take two numbers, percent one, which it gives times 100. What cannot be computed (no such place,
// a division by zero, a mean of nothing) is an error that says why, never a number.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "sluice/base/json_reader.hpp"
#include "sluice/base/result.hpp"
#include "sluice/reproduce/files/address.hpp"

namespace sluice {

struct Expression {
  struct Operation {
    std::string name;
    std::vector<Expression> parts;
  };
  std::variant<double, Address, Operation> value = 0.0;

  std::set<std::string> kept() const;  // the kept results that it reads
};

Result<Expression> read_expression(const JsonReader& reader);

// A kept result's document by its name. The pointer stays good as long as the expression is evaluated.
using FindDocument = std::function<Result<const nlohmann::json*>(const std::string& kept)>;

struct Evaluated {
  double value = 0;
  bool simulated = false;  // any of the numbers says that it is
};
Result<Evaluated> evaluate(const Expression& expression, const FindDocument& find);

}  // namespace sluice
