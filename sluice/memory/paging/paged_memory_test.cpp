#include "sluice/memory/paging/paged_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <thread>

#include "sluice/base/as_index.hpp"

namespace sluice::memory {
namespace {

class ScratchFolder {
 public:
  ScratchFolder() : path_(::testing::TempDir() + "paged_memory." + std::to_string(::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_; }

 private:
  std::string path_;
};

std::unique_ptr<PagedMemory> open_or_skip(PagedMemory::Config config) {
  auto opened = PagedMemory::open(std::move(config));
  if (!opened.ok() && opened.error().code == ErrorCode::kUnsupported) return nullptr;
  EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
  return opened.ok() ? std::move(opened).value() : nullptr;
}

#define SLUICE_OPEN_OR_SKIP(memory, config) \
  const auto memory = open_or_skip(config); \
  if (!memory) GTEST_SKIP() << "no userfaultfd"

std::string write_file(const ScratchFolder& folder, const std::vector<std::uint32_t>& words, std::size_t skew) {
  const std::string path = folder.path() + "/weights";
  std::ofstream file(path, std::ios::binary);
  file << std::string(skew, 'x');
  file.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 4));
  return path;
}

std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> words(count);
  std::iota(words.begin(), words.end(), 7U);
  return words;
}

TEST(PagedMemory, IsAFileFromAnyOffsetToItsEnd) {
  const ScratchFolder folder;
  const auto words = counting((5 << 20) + 123);
  const std::string path = write_file(folder, words, 4096 + 64);
  const Bytes bytes = static_cast<Bytes>(words.size()) * 4;
  SLUICE_OPEN_OR_SKIP(memory, (PagedMemory::Config{{{path, 4096 + 64, bytes, false}}, 3 * kMiB, folder.path()}));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(std::memcmp(memory->segment(0), words.data(), words.size() * 4), 0);
    EXPECT_LE(memory->counts().resident, 3 * kMiB);
  }
  EXPECT_EQ(memory->counts().written, 0);
  EXPECT_TRUE(memory->check_unchanged().ok());
}

TEST(PagedMemory, KeepsWhatIsWrittenToAnyPartOfIt) {
  const ScratchFolder folder;
  const std::size_t count = 4 << 20;
  std::vector<std::uint32_t> expected(count, 0);
  SLUICE_OPEN_OR_SKIP(memory, (PagedMemory::Config{{{"", 0, 16 * kMiB}}, 2 * kMiB, folder.path()}));
  auto* const words = reinterpret_cast<std::uint32_t*>(memory->segment(0));
  std::mt19937 random(2);
  for (int round = 0; round < 4'000; ++round) {
    const std::size_t at = random() % count;
    ASSERT_EQ(words[at], expected[at]) << at;
    if (round % 3 != 0) words[at] = expected[at] = static_cast<std::uint32_t>(random());
  }
  EXPECT_EQ(std::memcmp(words, expected.data(), count * 4), 0);
  EXPECT_TRUE(memory->take_problem().ok());
  EXPECT_GT(memory->counts().written, 0);
}

TEST(PagedMemory, ReadsWhatIsNextBeforeItIsTouched) {
  const ScratchFolder folder;
  const auto words = counting(16 << 20);
  const std::string path = write_file(folder, words, 0);
  SLUICE_OPEN_OR_SKIP(memory, (PagedMemory::Config{{{path, 0, 64 * kMiB, false}}, 16 * kMiB, folder.path()}));
  const auto* const from = reinterpret_cast<const std::uint32_t*>(memory->segment(0));
  const auto sum_of = [&](std::size_t piece) {  // of 4 MiB, no faster than disks are
    std::this_thread::sleep_for(std::chrono::milliseconds(8));
    return std::accumulate(from + (piece << 20), from + ((piece + 1) << 20), std::uint64_t{0});
  };
  const auto sweep = [&] {  // forward, and back in pieces
    std::uint64_t sum = 0;
    for (std::size_t piece = 0; piece < 16; ++piece) sum += sum_of(piece);
    for (std::size_t piece = 16; piece-- > 0;) sum += sum_of(piece);
    return sum;
  };
  const std::uint64_t expected = sweep();
  const std::int64_t at_first = memory->counts().waits;
  for (int round = 0; round < 3; ++round) EXPECT_EQ(sweep(), expected);
  const std::int64_t later = (memory->counts().waits - at_first) / 3;
  EXPECT_LT(later, at_first / 4) << "of " << memory->counts().uses << " uses";
  const Bytes read = memory->counts().read;
  EXPECT_EQ(sweep(), expected);
  EXPECT_LT(memory->counts().read - read, 120 * kMiB) << "what is used soonest stays";
}

TEST(PagedMemory, WritesNothingToFilesThatAreGiven) {
  const ScratchFolder folder;
  auto words = counting(4 << 20);
  const std::string path = write_file(folder, words, 0);
  for (const bool changes : {true, false}) {
    SLUICE_OPEN_OR_SKIP(memory, (PagedMemory::Config{{{path, 0, 16 * kMiB, changes}}, 4 * kMiB, folder.path()}));
    auto* const mine = reinterpret_cast<std::uint32_t*>(memory->segment(0));
    for (std::size_t at = 0; at < words.size(); at += 1000) mine[at] += 1;
    for (std::size_t at = 0; at < words.size(); ++at) ASSERT_EQ(mine[at], words[at] + (at % 1000 == 0 ? 1 : 0));
    EXPECT_TRUE(memory->check_unchanged().ok());
    EXPECT_EQ(memory->counts().written > 0, changes);
  }
}

TEST(PagedMemory, ManyThreadsReadAndWriteTheirWords) {
  const ScratchFolder folder;
  SLUICE_OPEN_OR_SKIP(memory, (PagedMemory::Config{{{"", 0, 8 * kMiB}}, 2 * kMiB, folder.path()}));
  auto* const words = reinterpret_cast<std::uint32_t*>(memory->segment(0));
  constexpr std::size_t kThreads = 4, kCount = 2 << 20;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint32_t round = 0; round < 3; ++round) {
        for (std::size_t at = thread; at < kCount; at += kThreads) {
          if (words[at] != (round == 0 ? 0 : round * 1000 + at)) ++wrong;
          words[at] = static_cast<std::uint32_t>((round + 1) * 1000 + at);
        }
      }
    });
  }
  for (auto& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

TEST(PagedMemory, ShrinksToWhatItIsGiven) {
  const ScratchFolder folder;
  const auto words = counting(8 << 20);
  const std::string path = write_file(folder, words, 0);
  SLUICE_OPEN_OR_SKIP(memory, (PagedMemory::Config{{{path, 0, 32 * kMiB, false}}, 24 * kMiB, folder.path()}));
  EXPECT_EQ(std::memcmp(memory->segment(0), words.data(), words.size() * 4), 0);
  EXPECT_GT(memory->counts().resident, 16 * kMiB);
  memory->set_resident(8 * kMiB);
  EXPECT_EQ(std::memcmp(memory->segment(0), words.data(), words.size() * 4), 0);
  EXPECT_LE(memory->counts().resident, 9 * kMiB);
}

TEST(PagedMemory, SaysThatAFileWasChanged) {
  const ScratchFolder folder;
  const std::string path = write_file(folder, counting(1 << 20), 0);
  SLUICE_OPEN_OR_SKIP(memory, (PagedMemory::Config{{{path, 0, 4 * kMiB, false}}, 2 * kMiB, folder.path()}));
  EXPECT_TRUE(memory->check_unchanged().ok());
  std::ofstream(path, std::ios::app) << "more";
  ASSERT_FALSE(memory->check_unchanged().ok());
  EXPECT_EQ(memory->check_unchanged().error().code, ErrorCode::kMismatch);
}

TEST(PagedMemory, RefusesTooLittleAndFilesThatEndEarly) {
  const ScratchFolder folder;
  const std::string path = write_file(folder, counting(1000), 0);
  const auto of = [&](PagedMemory::Segment segment, Bytes resident) {
    return PagedMemory::open({{std::move(segment)}, resident, folder.path()}).error();
  };
  EXPECT_EQ(of({path, 0, 4000}, kMiB).requested_bytes, PagedMemory::least_resident());
  EXPECT_NE(of({path, 0, 4001}, 2 * kMiB).message.find("cut off"), std::string::npos);
  EXPECT_NE(of({folder.path() + "/none", 0, 4}, 2 * kMiB).message.find("No such file"), std::string::npos);
}

TEST(PagedMemoryDeathTest, AChildDoesNotReadZeros) {
  const ScratchFolder folder;
  SLUICE_OPEN_OR_SKIP(memory, (PagedMemory::Config{{{"", 0, 4 * kMiB}}, 2 * kMiB, folder.path()}));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(static_cast<int>(*memory->segment(0)));
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);  // what ends it is a signal, or a sanitizer
}

}  // namespace
}  // namespace sluice::memory
