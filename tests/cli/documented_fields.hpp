// The fields of a JSON document as a page of docs/ lists them, so that the page and the program cannot part.
//
// The page has a table between "<!-- fields -->" and "<!-- end of fields -->": | `a[].b` | number or null | what |
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sluice {

struct DocumentedField {
  std::vector<std::string> path;  // keys; "[]" stands for every element of an array
  std::string type;               // array, boolean, integer, number, object or string, perhaps " or null"
};

std::vector<DocumentedField> read_fields(const std::string& page);

// One line for each field that is missing, of another type, or not on the page. A value is looked into only where the
// page lists fields below it; an object that holds `stands_alone` is left out.
std::vector<std::string> check_fields(const nlohmann::json& document, const std::vector<DocumentedField>& fields,
                                      const std::string& stands_alone);

}  // namespace sluice
