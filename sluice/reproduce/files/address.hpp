// Where a number of a kept result stands: "KEPT#/path", the path a JSON pointer (~0 and ~1 for ~ and /) whose steps may
// also choose among elements:
//
//   key=value           the one element of a list of objects whose `key` is `value`; key=value&other=value where one
//                       condition is not enough; of a value that is a list, its elements with commas between them
//   *                   every element: the address is then a list of numbers
//   *key=value          every element that meets the conditions
//   ?*                  every element that has what the rest of the path asks for
//
// A step into an object is always a key, whatever is in it. Paths come from people's files: any text is either an
// address or an error, and any address gives numbers or says at which step it went wrong. Cost: one walk over what it
// reads.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/result.hpp"

namespace sluice {

struct Address {
  std::string kept;                // the kept result, a name
  std::vector<std::string> steps;  // unescaped

  std::string text() const;
};

Result<Address> parse_address(std::string_view text);

struct AddressedNumber {
  double value = 0;
  bool simulated = false;  // an object on the way to it says "simulated": true
};

// kBadInput where the document has no such place or something else than a finite number there.
Result<std::vector<AddressedNumber>> numbers_at(const nlohmann::json& document, const Address& address);

}  // namespace sluice
