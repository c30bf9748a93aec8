// The fields of a JSON document as a page of docs/ lists them, so that the page and the program cannot part.
//
// A page about one document has a table between "<!-- fields -->" and "<!-- end of fields -->":
//   | `a[].b` | number or null | what |            a field "or absent" need not be there
// A page about several has an outline of them, fenced ```fields, in which '+' brings in another table:
//   plan
//     + run
//     planner: string; batch, steps?: integer      "?": or absent
//     links[]                                      an array of objects
//       bandwidth: number                          alone
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace sluice::tests {

struct DocumentedField {
  std::vector<std::string> path;  // keys; "[]" stands for every element of an array
  std::string type;               // array, boolean, integer, number, object, string or an array of one of these,
                                  // "string[]"; perhaps " or null", " or absent"

  std::string name() const;  // "a[].b"
};

// Of a page about one document.
std::vector<DocumentedField> read_fields(const std::string& page);

// The tables of a page about several documents, by name, with all that they bring in.
std::map<std::string, std::vector<DocumentedField>> read_tables(const std::string& page);

// The names of all fields that a document has.
std::set<std::string> field_names(const nlohmann::json& document);

// One line for each field that is missing, of another type, or not on the page. A value is looked into only where the
// page lists fields below it; an object that holds `stands_alone` is left out.
std::vector<std::string> check_fields(const nlohmann::json& document, const std::vector<DocumentedField>& fields,
                                      const std::string& stands_alone);

}  // namespace sluice::tests
