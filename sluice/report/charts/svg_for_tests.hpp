// What tests hold against a picture: that it is XML, and that its labels stand apart and on the page.
#pragma once

#include <cmath>
#include <regex>
#include <string>
#include <vector>

namespace sluice::testing {

// What is wrong with the text as XML: tags that do not close in order, or a bare sign; "" when nothing is.
inline std::string xml_problem(const std::string& xml) {
  static const std::regex tag(
      R"(<(/?)([A-Za-z]+)((?:\s[\w:-]+="[^"<&]*(?:&(?:amp|lt|gt|quot|apos);[^"<&]*)*")*)\s*(/?)>)");
  static const std::regex content(R"((?:[^<>&]|&(?:amp|lt|gt|quot|apos);)*)");
  std::vector<std::string> open;
  auto at = xml.begin();
  for (std::smatch found; std::regex_search(at, xml.end(), found, tag); at = found.suffix().first) {
    if (!std::regex_match(at, found[0].first, content)) return "text " + std::string(at, found[0].first);
    if (found[4].length() > 0) continue;
    if (found[1].length() == 0) {
      open.push_back(found[2]);
    } else if (open.empty() || open.back() != found[2]) {
      return "closes " + found[2].str();
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? (std::string(at, xml.end()) == "\n" ? "" : "text behind the end")
                      : "never closes " + open.back();
}

struct SvgLabel {
  double x = 0, y = 0, width = 0;
  std::string text;
};

// Texts with the room they take, by the same usual width of a character as a reader's font has.
inline std::vector<SvgLabel> labels_of(const std::string& svg) {
  static const std::regex text(
      R"re(<text class="(\w+)" x="([-\d.]+)" y="([-\d.]+)" text-anchor="(\w+)">([^<]*)</text>)re");
  std::vector<SvgLabel> labels;
  for (std::sregex_iterator found(svg.begin(), svg.end(), text), end; found != end; ++found) {
    const std::smatch& match = *found;
    const double width = static_cast<double>(match[5].length()) * (match[1] == "title" ? 9 : 6.5);
    const double shift = match[4] == "end" ? width : match[4] == "middle" ? width / 2 : 0;
    labels.push_back({std::stod(match[2]) - shift, std::stod(match[3]), width, match[5]});
  }
  return labels;
}

// Two texts that overlap, or one that leaves the page; "" where there are none. A picture without labels is one, too.
inline std::string label_problem(const std::string& svg) {
  static const std::regex page(R"re(viewBox="0 0 ([\d.]+) ([\d.]+)")re");
  std::smatch size;
  if (!std::regex_search(svg, size, page)) return "no page";
  const std::vector<SvgLabel> labels = labels_of(svg);
  if (labels.size() <= 5) return "few labels";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const SvgLabel& a = labels[i];
    const bool inside = a.x >= 0 && a.x + a.width <= std::stod(size[1]) && a.y >= 0 && a.y <= std::stod(size[2]);
    if (!inside) return "off the page: " + a.text;
    for (std::size_t j = i + 1; j < labels.size(); ++j) {
      const SvgLabel& b = labels[j];
      const bool apart = a.x + a.width <= b.x || b.x + b.width <= a.x || std::abs(a.y - b.y) >= 11;
      if (!apart) return a.text + " on " + b.text;
    }
  }
  return "";
}

}  // namespace sluice::testing
