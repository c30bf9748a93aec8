#include "sluice/profile/encoding_figures.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sluice/base/json_reader.hpp"

namespace sluice {

void to_json(nlohmann::json& json, const EncodingFigures& figures) {
  json = {{"encoded_bytes", figures.encoded_bytes},
          {"encode_bytes_per_second", figures.encode},
          {"decode_bytes_per_second", figures.decode}};
}

Status read_json(const JsonReader& reader, EncodingFigures& figures) {
  SLUICE_RETURN_IF_ERROR(reader.read("encoded_bytes", figures.encoded_bytes));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("encode_bytes_per_second", figures.encode));
  SLUICE_RETURN_IF_ERROR(reader.read_figure("decode_bytes_per_second", figures.decode));
  const bool below = std::ranges::any_of(figures.encoded_bytes, [](Bytes bytes) { return bytes < 0; });
  return below ? Status(reader.error("encoded_bytes", "below 0")) : Status();
}

}  // namespace sluice
