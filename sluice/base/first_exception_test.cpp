#include "sluice/base/first_exception.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sluice {
namespace {

TEST(FirstException, LeavesThreadsAndNothingRunsBehindIt) {
  FirstException failed;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { failed.run([] { throw std::runtime_error("no room"); }); });
  threads.clear();
  bool ran = false;
  failed.run([&] { ran = true; });
  EXPECT_FALSE(ran);
  EXPECT_THROW(failed.rethrow(), std::runtime_error);
}

TEST(FirstException, WithoutOneNothingIsThrown) {
  FirstException failed;
  int calls = 0;
  for (int i = 0; i < 3; ++i) failed.run([&] { ++calls; });
  failed.rethrow();
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace sluice
