#include "sluice/memory/observe/memory_samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>

#include "sluice/memory/observe/hardware_sampling.hpp"

namespace sluice::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Records {
 public:
  Records& sample(std::uint64_t address, std::uint64_t operation, std::uint64_t tlb) {
    perf_mem_data_src source = {};
    source.mem_op = operation & 0x1F;
    source.mem_dtlb = tlb & 0x7F;
    return add(PERF_RECORD_SAMPLE, {address, 4096, source.val});
  }
  Records& add(std::uint32_t type, const std::vector<std::uint64_t>& words) {
    perf_event_header header = {};
    header.type = type;
    header.size = static_cast<std::uint16_t>(sizeof(header) + words.size() * sizeof(words[0]));
    append(&header, sizeof(header));
    append(words.data(), words.size() * sizeof(words[0]));
    return *this;
  }
  std::vector<std::byte> bytes;

 private:
  void append(const void* data, std::size_t size) {
    bytes.resize(bytes.size() + size);
    std::memcpy(bytes.data() + bytes.size() - size, data, size);
  }
};

TEST(MemorySamples, KeepsLoadsAndStoresThatMissedTheTlb) {
  const Records records = Records()
                              .sample(0x1000, PERF_MEM_OP_LOAD, PERF_MEM_TLB_MISS | PERF_MEM_TLB_L2)
                              .sample(0x2000, PERF_MEM_OP_STORE, PERF_MEM_TLB_MISS)
                              .sample(0x3000, PERF_MEM_OP_LOAD, PERF_MEM_TLB_HIT | PERF_MEM_TLB_L1)
                              .sample(0x4000, PERF_MEM_OP_NA, PERF_MEM_TLB_MISS);
  EXPECT_THAT(decode_samples(records.bytes).samples,
              ElementsAre(MemorySample{0x1000, false, 4096}, MemorySample{0x2000, true, 4096}));
}

TEST(MemorySamples, AddsUpWhatWasLostAndSkipsOtherRecords) {
  const Records records =
      Records().add(PERF_RECORD_LOST, {1, 5}).add(PERF_RECORD_THROTTLE, {1, 2, 3}).add(PERF_RECORD_LOST, {1, 2});
  EXPECT_EQ(decode_samples(records.bytes).lost, 7);
  EXPECT_TRUE(decode_samples(records.bytes).samples.empty());
}

TEST(MemorySamples, StopsAtARecordThatCannotBe) {
  Records records = Records().sample(0x1000, PERF_MEM_OP_LOAD, PERF_MEM_TLB_MISS);
  records.add(PERF_RECORD_SAMPLE, {1});
  records.bytes.resize(records.bytes.size() - 4);
  EXPECT_EQ(decode_samples(records.bytes).samples.size(), 1U);
  EXPECT_TRUE(decode_samples(std::vector<std::byte>(64)).samples.empty());
}

TEST(MemorySamples, ReadsAnEventsDescription) {
  const auto loads = parse_event("event=0xcd,umask=0x1,ldlat=3\n");
  ASSERT_TRUE(loads);
  EXPECT_EQ(loads->config, 0x1CDU);
  EXPECT_EQ(loads->config1, 3U);
  for (const char* bad : {"", "event", "event=", "event=x", "event=0x1g", "frontend=1"}) {
    EXPECT_FALSE(parse_event(bad)) << bad;
  }
}

TEST(HardwareSampler, WorksOrSaysWhyNot) {
  const auto sampler = open_hardware_sampler();
  if (!sampler.ok()) {
    EXPECT_EQ(sampler.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(sampler.error().message, HasSubstr("sampl"));
    return;
  }
  (*sampler)->start();
  std::vector<char> memory(64 << 20);
  for (std::size_t i = 0; i < memory.size(); i += 4096) *static_cast<volatile char*>(&memory[i]) = 1;
  (*sampler)->stop();
  for (const MemorySample& sample : (*sampler)->drain()) EXPECT_GT(sample.weight, 0);
}

}  // namespace
}  // namespace sluice::memory
