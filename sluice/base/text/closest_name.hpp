// What the user may have meant: the name nearest to a misspelt one. Pure and thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// The one that the fewest insertions, deletions and replacements of one character make of `name` (Levenshtein's distance;
// capital letters are as good as small ones). Empty where that would be more than half of its characters.
std::string_view closest_name(std::string_view name, const std::vector<std::string_view>& known);

// "; did you mean 'resnet50'? Known ", or "; known " where there is no such name: what an error goes on with.
std::string suggest_name(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace sluice
