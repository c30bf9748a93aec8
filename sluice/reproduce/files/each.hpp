// One entry of a file for many results that differ in a few words:
//
//   { "name": "joint_${model}",
//     "each": [{"model": "resnet50", "more": []}, {"model": "vgg16", "more": ["--lr", "0.001"]}],
//     "command": ["$sluice", "compare", "${model}", "${more}"] }
//
// `each` is a list of objects, or a list of such lists of which every combination is taken. ${word} in any text of the
// entry becomes the object's word. Where it stands alone, a list is put in its elements' place and a number stays one.
// A word that nobody defines, one that nothing uses and one defined twice are errors.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "sluice/base/json_reader.hpp"
#include "sluice/base/result.hpp"

namespace sluice {

// The entries without `each`; the entry itself where it has none.
Result<std::vector<nlohmann::json>> expand_each(const JsonReader& entry);

}  // namespace sluice
