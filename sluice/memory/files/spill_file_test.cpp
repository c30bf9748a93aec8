#include "sluice/memory/files/spill_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "sluice/base/as_index.hpp"
#include "sluice/base/random.hpp"
#include "sluice/memory/files/direct_io.hpp"

namespace sluice::memory {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SpillFileTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  bool directory_is_empty() const { return fs::is_empty(directory_); }

  const fs::path directory_ = fs::path(::testing::TempDir()) / ("spill_file_test." + std::to_string(::getpid()));
};

std::vector<std::byte> random_bytes_of(std::uint64_t seed, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(random_bits(seed, 0, i));
  return bytes;
}

TEST_F(SpillFileTest, IsPreallocatedAndLeavesNothingBehind) {
  {
    auto file = SpillFile::open(directory_.string(), 3 * kMiB + 1);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->bytes(), 3 * kMiB + 4096);
    struct stat info {};
    ASSERT_EQ(::fstat(file->descriptor(), &info), 0);
    EXPECT_GE(info.st_size, 3 * kMiB + 4096);
    EXPECT_GE(info.st_blocks * 512, 3 * kMiB + 4096);
    EXPECT_TRUE(directory_is_empty());  // already without a name
  }
  auto named = SpillFile::open((directory_ / "new").string(), kMiB);
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_TRUE(directory_is_empty());
}

// A block at an offset that is no multiple of any larger one, by the descriptor itself.
TEST_F(SpillFileTest, TransfersOfABlockAreTakenDirectly) {
  const auto file = SpillFile::open(directory_.string(), kMiB).value();
  EXPECT_EQ(kBlockAlignment % file.block(), 0);
  if (!file.direct()) GTEST_SKIP() << "no direct I/O here: " << file.notes().front();
  EXPECT_EQ(file.block(), direct_io_block(file.descriptor()).value_or(kBlockAlignment));
  const auto size = as_index(file.block());
  std::byte* const buffer = static_cast<std::byte*>(std::aligned_alloc(size, size));
  std::memset(buffer, 0x5a, size);
  EXPECT_EQ(::pwrite(file.descriptor(), buffer, size, file.block()), file.block());
  std::free(buffer);
  std::vector<std::byte> back(size);
  ASSERT_TRUE(file.read(file.block(), back).ok());
  EXPECT_EQ(back, std::vector(size, std::byte{0x5a}));
}

TEST_F(SpillFileTest, ReadsBackWhatWasWrittenAtAnyOffset) {
  auto file = SpillFile::open(directory_.string(), 4 * kMiB).value();
  constexpr std::uint64_t kSeed = 20240611;
  SCOPED_TRACE(kSeed);
  std::vector<std::byte> expected(4 * kMiB);
  for (std::uint64_t i = 0; i < 60; ++i) {
    const auto offset = random_bits(kSeed, 1, i) % expected.size();
    const auto longest = random_bits(kSeed, 2, i) % 4 == 0 ? 2U << 20 : 9000U;
    const auto size = std::min<std::size_t>(random_bits(kSeed, 3, i) % longest, expected.size() - offset);
    const auto bytes = random_bytes_of(i, size);
    ASSERT_TRUE(file.write(static_cast<Bytes>(offset), bytes).ok());
    std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
    std::vector<std::byte> back(size);
    ASSERT_TRUE(file.read(static_cast<Bytes>(offset), back).ok());
    ASSERT_EQ(back, bytes);
  }
  std::vector<std::byte> whole(expected.size());
  ASSERT_TRUE(file.read(0, whole).ok());
  EXPECT_EQ(whole, expected);
}

TEST_F(SpillFileTest, ReusableFileIsKeptAndLocked) {
  const std::string path = (directory_ / "kept.spill").string();
  const auto bytes = random_bytes_of(1, 5000);
  {
    auto file = SpillFile::open(path, kMiB).value();
    ASSERT_TRUE(file.write(0, bytes).ok());
    const auto second = SpillFile::open(path, kMiB);
    ASSERT_FALSE(second.ok());
    EXPECT_THAT(second.error().message, HasSubstr("another run is using it"));
  }
  auto file = SpillFile::open(path, 2 * kMiB).value();
  std::vector<std::byte> back(5000);
  ASSERT_TRUE(file.read(0, back).ok());
  EXPECT_EQ(back, bytes);
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(SpillFileTest, RefusesToOverwriteAnotherFile) {
  const std::string path = (directory_ / "thesis.txt").string();
  std::ofstream(path) << "years of work";
  const auto file = SpillFile::open(path, kMiB);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(fs::file_size(path), 13U);
}

TEST_F(SpillFileTest, FullDiskSaysRequestedAndAvailable) {
  struct statvfs info {};
  ASSERT_EQ(::statvfs(directory_.c_str(), &info), 0);
  const Bytes too_much = static_cast<Bytes>(info.f_blocks) * static_cast<Bytes>(info.f_frsize) + kGiB;
  const std::string path = (directory_ / "kept.spill").string();
  const auto file = SpillFile::open(path, too_much);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kOutOfSpace);
  EXPECT_THAT(file.error().message, HasSubstr(format_bytes(align_up(too_much, 4096)) + " requested"));
  EXPECT_THAT(file.error().message, HasSubstr("available on its file system"));
  EXPECT_TRUE(directory_is_empty());
}

TEST_F(SpillFileTest, FileSizeLimitIsAnErrorNotASignal) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit lowered = before;
  lowered.rlim_cur = static_cast<rlim_t>(kMiB);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &lowered), 0);
  const auto file = SpillFile::open(directory_.string(), 2 * kMiB);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kOutOfSpace);
  EXPECT_THAT(file.error().message, HasSubstr("2.0 MiB requested, 1.0 MiB available"));
}

TEST_F(SpillFileTest, PathThatCannotBeWrittenIsExplained) {
  for (const std::string path : {"/proc", "/proc/x.spill", "/no/such/directory/spill", "/dev/null"}) {
    SCOPED_TRACE(path);
    const auto file = SpillFile::open(path, kMiB);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(file.error().message, HasSubstr("'" + path + "'"));
    EXPECT_THAT(file.error().message, HasSubstr("name a writable directory"));
  }
}

TEST_F(SpillFileTest, ReadBeyondTheEndNamesTheOffset) {
  auto file = SpillFile::open(directory_.string(), kMiB).value();
  std::vector<std::byte> bytes(4096);
  const Status status = file.read(kMiB, bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_THAT(status.error().message, HasSubstr("offset 1048576"));
}

// Skipped where the machine has no tmpfs at its usual place, or none with room: a container may hide or bound it.
TEST_F(SpillFileTest, SaysSoOnAFileSystemThatIsMemory) {
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "no tmpfs at /dev/shm";
  auto file = SpillFile::open("/dev/shm", kMiB);
  if (!file.ok()) GTEST_SKIP() << file.error().message;
  ASSERT_FALSE(file->notes().empty());
  EXPECT_THAT(file->notes()[0], HasSubstr("tmpfs"));
  EXPECT_EQ(file->notes().size(), file->direct() ? 1U : 2U);
  const auto bytes = random_bytes_of(3, 10000);
  ASSERT_TRUE(file->write(1234, bytes).ok());
  std::vector<std::byte> back(10000);
  ASSERT_TRUE(file->read(1234, back).ok());
  EXPECT_EQ(back, bytes);
}

}  // namespace
}  // namespace sluice::memory
