#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"
#include "sluice/base/text/utf8.hpp"
#include "tests/fuzz/fuzz_targets.hpp"

namespace sluice::tests {

void fuzz_json(std::string_view input) {
  const Result<nlohmann::json> document = parse_json(input);
  if (!document.ok()) return;
  const nlohmann::json copy = *document;
  SLUICE_CHECK(copy.dump().size() < 12 * input.size() + 64, "written again in about as many bytes");
  const JsonReader reader(copy);
  std::string text;
  std::vector<std::vector<std::int64_t>> lists;
  std::map<std::string, double> numbers;
  double figure = 1;
  for (const Status& read : {reader.read(text), reader.read(lists), reader.read(numbers), reader.read("a", figure),
                             reader.read_figure("figure", figure)}) {
    SLUICE_CHECK(read.ok() || is_utf8(read.error().message), "an error that can be written");
  }
  SLUICE_CHECK(figure == figure, "a number");
}

}  // namespace sluice::tests
