// Evaluated items for people: in the terminal, as Markdown, as an HTML page of its own, and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sluice/reproduce/evaluation.hpp"

namespace sluice {

std::string item_text(const EvaluatedItem& item);

// docs/results/papers.md and papers.html: every item, papers one after the other. They say nothing of when they were
// made, so that the same results give the same pages. The HTML page loads nothing and runs no script.
std::string papers_markdown(const std::vector<EvaluatedItem>& items);
std::string papers_page(const std::vector<EvaluatedItem>& items);

nlohmann::json item_json(const EvaluatedItem& item);

}  // namespace sluice
