#include "tests/cli/documented_fields.hpp"

#include <algorithm>
#include <fstream>
#include <map>

namespace sluice::tests {
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
  if (const auto either = type.find(" or "); either != std::string::npos) {
    return fits(value, type.substr(0, either)) || fits(value, type.substr(either + 4));
  }
  if (type == "null") return value.is_null();
  if (type.ends_with("[]")) {
    const std::string each = type.substr(0, type.size() - 2);
    return value.is_array() && std::ranges::all_of(value, [&](const json& element) { return fits(element, each); });
  }
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

std::vector<DocumentedField> read_fields(const std::string& page) {
  std::vector<DocumentedField> fields;
  std::ifstream file(page);
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("<!--")) inside = line == "<!-- fields -->";
    if (!inside || !line.starts_with("| `")) continue;
    const std::size_t name_end = line.find('`', 3);
    const std::size_t type = line.find("| ", name_end) + 2;
    fields.push_back({split_path(line.substr(3, name_end - 3)), line.substr(type, line.find(" |", type) - type)});
  }
  return fields;
}

namespace {

std::vector<std::string> split_at(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  return parts;
}

// An outline as lines under the name of their table, without what they say in words.
using Outline = std::map<std::string, std::vector<std::string>>;

Outline read_outline(const std::string& page) {
  Outline outline;
  std::ifstream file(page);
  bool inside = false;
  std::string table;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) inside = line == "```fields";
    if (!inside || line.empty() || line.starts_with("```")) continue;
    const std::size_t begin = line.find_first_not_of(' ');
    line = line.substr(0, line.find("  ", begin));
    if (begin == 0) table = line;
    if (begin > 0) outline[table].push_back(line.substr(2));
  }
  return outline;
}

// Takes `mark` off the end of `text`, if it is there.
bool take_end(std::string& text, const std::string& mark) {
  if (!text.ends_with(mark)) return false;
  text.resize(text.size() - mark.size());
  return true;
}

class TableReader {
 public:
  explicit TableReader(Outline outline) : outline_(std::move(outline)) {}

  std::vector<DocumentedField> fields(const std::string& table) {
    fields_.clear();
    add_table(table, {});
    return std::move(fields_);
  }

 private:
  using Path = std::vector<std::string>;

  void add_table(const std::string& table, const Path& where) {
    std::vector<Path> open{where};  // by depth: what the next line may lie in
    for (const std::string& line : outline_.at(table)) {
      const std::size_t begin = line.find_first_not_of(' ');
      open.resize(begin / 2 + 1);
      const std::string text = line.substr(begin);
      if (text.starts_with("+ ")) {
        add_table(text.substr(2), open.back());
      } else {
        for (const std::string& same_type : split_at(text, "; ")) add_fields(same_type, open);
      }
    }
  }

  // "a, b?: integer", or "a[]? or null", in which the following lines lie.
  void add_fields(std::string text, std::vector<Path>& open) {
    const std::vector<std::string> names_and_type = split_at(text, ": ");
    const Path& where = open.back();
    if (names_and_type.size() == 2) {
      for (std::string name : split_at(names_and_type[0], ", ")) {
        const std::string absent = take_end(name, "?") ? " or absent" : "";
        add(where, name, names_and_type[1] + absent);
      }
      return;
    }
    const std::string null = take_end(text, " or null") ? " or null" : "",
                      absent = take_end(text, "?") ? " or absent" : "";
    const bool array = take_end(text, "[]");
    Path inside = add(where, text, (array ? "array" : "object") + null + absent);
    if (array) inside.emplace_back("[]");
    open.push_back(std::move(inside));
  }

  Path add(Path where, const std::string& name, const std::string& type) {
    where.push_back(name);
    fields_.push_back({where, type});
    return where;
  }

  const Outline outline_;
  std::vector<DocumentedField> fields_;
};

}  // namespace

std::map<std::string, std::vector<DocumentedField>> read_tables(const std::string& page) {
  const Outline outline = read_outline(page);
  TableReader reader(outline);
  std::map<std::string, std::vector<DocumentedField>> tables;
  for (const auto& [name, unused] : outline) tables[name] = reader.fields(name);
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

}  // namespace sluice::tests
