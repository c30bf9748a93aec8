#include "sluice/onnx/op_list.hpp"

#include <fmt/format.h>

#include "sluice/onnx/convert/converters.hpp"

namespace sluice::onnx {
namespace {

std::string row_of(std::string_view title, const std::vector<std::string>& ops) {
  std::string text = fmt::format("| {} | ", title);
  for (std::size_t i = 0; i < ops.size(); ++i) text += (i == 0 ? "" : ", ") + ops[i];
  return text + " |\n";
}

}  // namespace

std::string onnx_op_rows() {
  std::vector<std::pair<std::string_view, std::vector<std::string>>> families;
  for (const ConverterFamily& family : converter_families()) {
    ConverterTable table;
    family.add(table);
    if (!family.title.empty()) families.emplace_back(family.title, std::vector<std::string>());
    std::vector<std::string>& ops = families.back().second;
    for (const auto& [name, entry] : table) {
      if (name.starts_with("sluice.")) continue;
      ops.push_back(entry.limits.empty() ? name : fmt::format("{} ({})", name, entry.limits));
    }
  }
  std::string rows;
  for (const auto& [title, ops] : families) rows += row_of(title, ops);
  std::vector<std::string> constants;
  for (const std::string& name : folded_ops()) {
    if (find_converter(name) == nullptr) constants.push_back(name);
  }
  return rows + row_of("of constants only", constants);
}

}  // namespace sluice::onnx
