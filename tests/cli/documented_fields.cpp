#include "tests/cli/documented_fields.hpp"

#include <algorithm>
#include <fstream>
#include <map>

namespace sluice {
namespace {

using nlohmann::json;

// "results[].step_ms" as {"results", "[]", "step_ms"}.
std::vector<std::string> split_path(const std::string& text) {
  std::vector<std::string> path(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      path.emplace_back();
    } else if (text[i] == '[') {
      path.emplace_back("[]");
      ++i;
    } else {
      path.back() += text[i];
    }
  }
  return path;
}

// What is documented of a value: its type, and what is below it.
struct Node {
  std::string type;
  std::map<std::string, Node> below;
};

Node tree_of(const std::vector<DocumentedField>& fields) {
  Node root{"object", {}};
  for (const DocumentedField& field : fields) {
    Node* node = &root;
    for (const std::string& key : field.path) node = &node->below[key];
    node->type = field.type;
  }
  return root;
}

bool may_be_absent(const std::string& type) { return type.ends_with(" or absent"); }

bool fits(const json& value, const std::string& type) {
  if (may_be_absent(type)) return fits(value, type.substr(0, type.size() - 10));
  if (type.ends_with(" or null")) return value.is_null() || fits(value, type.substr(0, type.size() - 8));
  if (type == "array") return value.is_array();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "object" || type.empty()) return value.is_object() || (type.empty() && value.is_array());
  return type == "string" && value.is_string();
}

class Check {
 public:
  explicit Check(std::string stands_alone) : stands_alone_(std::move(stands_alone)) {}

  void look(const json& value, const Node& node, const std::string& path) {
    if (node.type != "" && !fits(value, node.type))
      faults.push_back(path + " is no " + node.type + ": " + value.dump());
    if (node.below.empty() || value.is_null() || value.contains(stands_alone_)) return;
    if (const auto element = node.below.find("[]"); element != node.below.end()) {
      for (const json& each : value) look(each, element->second, path + "[]");
      return;
    }
    for (const auto& [key, below] : node.below) {
      if (value.contains(key)) {
        look(value.at(key), below, path + "." + key);
      } else if (!may_be_absent(below.type)) {
        faults.push_back(path + "." + key + " is missing");
      }
    }
    for (const auto& [key, unused] : value.items()) {
      if (!node.below.contains(key)) faults.push_back(path + "." + key + " is not documented");
    }
  }

  std::vector<std::string> faults;

 private:
  std::string stands_alone_;
};

}  // namespace

std::string DocumentedField::name() const {
  std::string name;
  for (const std::string& part : path) name += (name.empty() || part == "[]" ? "" : ".") + part;
  return name;
}

std::vector<DocumentedField> read_fields(const std::string& page, const std::string& of) {
  const std::string begin = of.empty() ? "<!-- fields -->" : "<!-- fields of " + of + " -->";
  std::vector<DocumentedField> fields;
  std::ifstream file(page);
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("<!--")) inside = line == begin;
    if (!inside || !line.starts_with("| `")) continue;
    const std::size_t name_end = line.find('`', 3);
    const std::size_t type = line.find("| ", name_end) + 2;
    fields.push_back({split_path(line.substr(3, name_end - 3)), line.substr(type, line.find(" |", type) - type)});
  }
  return fields;
}

std::vector<std::string> read_tables(const std::string& page) {
  const std::string begin = "<!-- fields of ";
  std::vector<std::string> tables;
  std::ifstream file(page);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(begin)) tables.push_back(line.substr(begin.size(), line.find(" -->") - begin.size()));
  }
  return tables;
}

namespace {

void collect_names(const json& value, const std::string& path, std::set<std::string>& names) {
  if (value.is_array()) {
    for (const json& each : value) collect_names(each, path + "[]", names);
    return;
  }
  if (!value.is_object()) return;
  for (const auto& [key, below] : value.items()) {
    const std::string name = path.empty() ? key : path + "." + key;
    names.insert(name);
    collect_names(below, name, names);
  }
}

}  // namespace

std::set<std::string> field_names(const json& document) {
  std::set<std::string> names;
  collect_names(document, "", names);
  return names;
}

std::vector<std::string> check_fields(const json& document, const std::vector<DocumentedField>& fields,
                                      const std::string& stands_alone) {
  Check check(stands_alone);
  check.look(document, tree_of(fields), "");
  return check.faults;
}

}  // namespace sluice
