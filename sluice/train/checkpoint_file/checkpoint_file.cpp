#include "sluice/train/checkpoint_file/checkpoint_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "sluice/base/as_index.hpp"
#include "sluice/base/format_version.hpp"
#include "sluice/base/json_file.hpp"
#include "sluice/base/json_reader.hpp"

namespace sluice::train {
namespace {

constexpr std::string_view kMagic = "SLUICECK";
constexpr Bytes kStartBytes = 16;  // magic and the header's length
constexpr Bytes kChecksumDigits = 32;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

Result<CheckpointReader> CheckpointReader::open(const std::filesystem::path& path) {
  CheckpointReader reader(path);
  reader.file_.open(path, std::ios::binary);
  if (!reader.file_) return reader.damaged(fmt::format("cannot be opened: {}", std::strerror(errno)));
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(path, failure);
  if (failure) return reader.damaged(fmt::format("cannot be read: {}", failure.message()));
  reader.bytes_ = static_cast<Bytes>(bytes);
  SLUICE_RETURN_IF_ERROR(reader.read_header());
  return Result<CheckpointReader>(std::move(reader));
}

Status CheckpointReader::read_header() {
  std::array<char, kStartBytes> start{};
  SLUICE_RETURN_IF_ERROR(read_exactly(start));
  if (std::string_view(start.data(), kMagic.size()) != kMagic) return damaged("not a sluice checkpoint");
  std::uint64_t length = 0;
  std::memcpy(&length, start.data() + kMagic.size(), sizeof(length));
  if (length > kMostJsonBytes) return damaged("its header length is damaged");
  values_at_ = kStartBytes + static_cast<Bytes>(length);
  if (values_at_ > bytes_) return damaged("cut short");
  std::string text(length, '\0');
  SLUICE_RETURN_IF_ERROR(read_exactly(text));
  Result<nlohmann::json> header = parse_json(text);
  if (!header.ok()) return damaged("its header is damaged: " + header.error().message);
  if (!header->is_object()) return damaged("its header is damaged");
  header_ = *std::move(header);
  value_bytes_ = std::max<Bytes>(0, bytes_ - values_at_ - kChecksumDigits);
  return {};
}

Status CheckpointReader::read_exactly(std::span<char> into) {
  file_.read(into.data(), std::ssize(into));
  if (as_index(file_.gcount()) != into.size()) return damaged("cut short");
  return {};
}

Status CheckpointReader::check_version(int version, std::string_view again) const {
  const Status known = sluice::check_version(JsonReader(header_), {version, version, again});
  return known.ok() ? known : damaged(known.error().message);
}

Status CheckpointReader::check_contents() {
  if (bytes_ < values_at_ + kChecksumDigits) return damaged("cut short");
  file_.seekg(0);
  Hasher hasher;
  std::vector<char> buffer(std::size_t{1} << 20);
  for (Bytes left = bytes_ - kChecksumDigits; left > 0;) {
    const std::span part = std::span(buffer).first(std::min(as_index(left), buffer.size()));
    SLUICE_RETURN_IF_ERROR(read_exactly(part));
    hasher.add(std::as_bytes(part));
    left -= std::ssize(part);
  }
  const std::span digits = std::span(buffer).first(as_index(kChecksumDigits));
  SLUICE_RETURN_IF_ERROR(read_exactly(digits));
  if (std::string_view(digits.data(), digits.size()) == hasher.hex()) return {};
  return damaged("its checksum does not match: the file is cut short or damaged; use an earlier one");
}

Status CheckpointReader::read_values(std::span<float> values) {
  return read_exactly({reinterpret_cast<char*>(values.data()), values.size_bytes()});
}

Error CheckpointReader::damaged(std::string_view why) const {
  return bad_input(fmt::format("checkpoint {}: {}", path_.string(), why));
}

Result<CheckpointWriter> CheckpointWriter::begin(const std::filesystem::path& path, const nlohmann::json& header) {
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  SLUICE_ASSIGN(AtomicFile created, AtomicFile::create(path));
  CheckpointWriter writer(std::move(created));
  SLUICE_RETURN_IF_ERROR(writer.write(bytes_of(kMagic)));
  SLUICE_RETURN_IF_ERROR(writer.write(std::as_bytes(std::span(&length, 1))));
  SLUICE_RETURN_IF_ERROR(writer.write(bytes_of(text)));
  return Result<CheckpointWriter>(std::move(writer));
}

Status CheckpointWriter::write(std::span<const std::byte> bytes) {
  hasher_.add(bytes);
  return file_.write(bytes);
}

Status CheckpointWriter::finish() {
  SLUICE_RETURN_IF_ERROR(file_.write(hasher_.hex()));
  return file_.commit();
}

}  // namespace sluice::train
