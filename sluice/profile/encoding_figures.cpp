#include "sluice/profile/encoding_figures.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sluice/base/json_reader.hpp"

namespace sluice::profile {

void to_json(nlohmann::json& json, const CoderSpeed& speed) {
  json = {{"encode_bytes_per_second", speed.encode}, {"decode_bytes_per_second", speed.decode}};
}

Status read_json(const JsonReader& reader, CoderSpeed& speed) {
  SLUICE_RETURN_IF_ERROR(reader.read_figure("encode_bytes_per_second", speed.encode));
  return reader.read_figure("decode_bytes_per_second", speed.decode);
}

void to_json(nlohmann::json& json, const EncodingFigures& figures) {
  json = {{"encoded_bytes", figures.encoded_bytes}, {"zero_value", figures.zero_value}, {"narrow", figures.narrow}};
}

Status read_json(const JsonReader& reader, EncodingFigures& figures) {
  SLUICE_RETURN_IF_ERROR(reader.read("encoded_bytes", figures.encoded_bytes));
  SLUICE_ASSIGN(const JsonReader zero_value, reader.object("zero_value"));
  SLUICE_RETURN_IF_ERROR(read_json(zero_value, figures.zero_value));
  SLUICE_ASSIGN(const JsonReader narrow, reader.object("narrow"));
  SLUICE_RETURN_IF_ERROR(read_json(narrow, figures.narrow));
  const bool below = std::ranges::any_of(figures.encoded_bytes, [](Bytes bytes) { return bytes < 0; });
  return below ? Status(reader.error("encoded_bytes", "below 0")) : Status();
}

}  // namespace sluice::profile
