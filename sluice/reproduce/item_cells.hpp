// The columns in which items are shown, the same in the terminal and on pages, and the words below them.
#pragma once

#include <string>
#include <vector>

#include "sluice/reproduce/evaluation.hpp"

namespace sluice {

// Ours, in three digits that count: "1.70x", "23.5 %", "12800 ms".
std::string figure_text(double figure, const std::string& unit);

const std::vector<std::string>& item_columns();  // #, what, model, batch, setting, published, ours, how, verdict
bool is_number_column(const std::string& title);
std::vector<std::string> item_cells(const EvaluatedItem& item, std::size_t index);

// The item's notes, where batches are scaled, how published numbers are known, and reasons why rows have none of ours;
// with the numbers of the rows that each is about.
std::vector<std::string> item_notes(const EvaluatedItem& item);

// "12 rows of 3 items: 5 ahead, 4 match, ..."; a line, and one more where rows are stale.
std::string count_text(const VerdictCount& count);
std::string stale_text(const VerdictCount& count);  // empty where none is

}  // namespace sluice
