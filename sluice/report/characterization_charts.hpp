// A characterization as pictures.
#pragma once

#include <string>
#include <vector>

#include "sluice/report/characterization.hpp"

namespace sluice {

struct NamedPicture {
  std::string file;  // "lifetimes.svg"
  std::string svg;
};

// lifetimes, lifetime_bytes, distances, live_bytes and, where measured, hot_and_cold and false_sharing. `subject` is
// what they are of: "resnet32, batch 128".
std::vector<NamedPicture> draw_characterization(const Graph& graph, const Liveness& liveness,
                                                const Characterization& found, const std::string& subject);

}  // namespace sluice
