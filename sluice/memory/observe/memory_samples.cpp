#include "sluice/memory/observe/memory_samples.hpp"

#include <linux/perf_event.h>

#include <cstring>
#include <sstream>

#include "sluice/base/parse.hpp"

namespace sluice::memory {
namespace {

// In the kernel's order for the sample type that HardwareSampler asks for.
struct SampleRecord {
  std::uint64_t address;
  std::uint64_t period;
  perf_mem_data_src source;
};

struct LostRecord {
  std::uint64_t id;
  std::uint64_t count;
};

template <typename Record>
Record read_record(std::span<const std::byte> bytes) {
  Record record = {};
  std::memcpy(&record, bytes.data(), std::min(sizeof(record), bytes.size()));
  return record;
}

// "0xcd" or "3".
std::optional<std::uint64_t> code_in(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  const auto code = take_integer(text, hexadecimal ? 16 : 10);
  if (!code || *code < 0 || !text.empty()) return std::nullopt;
  return static_cast<std::uint64_t>(*code);
}

}  // namespace

DecodedSamples decode_samples(std::span<const std::byte> records) {
  DecodedSamples decoded;
  while (records.size() >= sizeof(perf_event_header)) {
    const auto header = read_record<perf_event_header>(records);
    if (header.size < sizeof(header) || header.size > records.size()) break;
    const auto body = records.subspan(sizeof(header), header.size - sizeof(header));
    if (header.type == PERF_RECORD_LOST) decoded.lost += static_cast<std::int64_t>(read_record<LostRecord>(body).count);
    if (header.type == PERF_RECORD_SAMPLE) {
      const auto sample = read_record<SampleRecord>(body);
      const bool access = (sample.source.mem_op & (PERF_MEM_OP_LOAD | PERF_MEM_OP_STORE)) != 0;
      if (access && (sample.source.mem_dtlb & PERF_MEM_TLB_MISS) != 0) {
        decoded.samples.push_back({static_cast<std::uintptr_t>(sample.address),
                                   (sample.source.mem_op & PERF_MEM_OP_STORE) != 0,
                                   static_cast<std::int64_t>(sample.period)});
      }
    }
    records = records.subspan(header.size);
  }
  return decoded;
}

std::optional<EventCode> parse_event(const std::string& description) {
  EventCode code;
  std::istringstream terms(description);
  for (std::string term; std::getline(terms, term, ',');) {
    while (!term.empty() && term.back() == '\n') term.pop_back();
    const auto equals = term.find('=');
    if (equals == std::string::npos) return std::nullopt;
    const auto value = code_in(std::string_view(term).substr(equals + 1));
    const std::string name = term.substr(0, equals);
    if (!value) return std::nullopt;
    if (name == "event") {
      code.config |= *value;
    } else if (name == "umask") {
      code.config |= *value << 8;
    } else if (name == "ldlat") {
      code.config1 = *value;
    } else {
      return std::nullopt;
    }
  }
  if (code.config == 0) return std::nullopt;
  return code;
}

}  // namespace sluice::memory
