#include "sluice/memory/numa_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/testing/node_folder.hpp"

namespace sluice::memory {
namespace {

using testing::NodeFolder;

const std::vector<int> kOnNode0{0};

TEST(NumaFigures, AreInBytesPerSecondAndSeconds) {
  testing::NodeFolder folder;
  folder.write(1, "access0", {0}, {"19000", "9500", "200", "260"});
  const auto figures = read_node_figures(1, kOnNode0, folder.path());
  ASSERT_TRUE(figures.ok()) << figures.error().message;
  ASSERT_TRUE(*figures);
  EXPECT_DOUBLE_EQ((*figures)->read_bandwidth, 19e9);
  EXPECT_DOUBLE_EQ((*figures)->write_bandwidth, 9.5e9);
  EXPECT_DOUBLE_EQ((*figures)->read_latency, 200e-9);
  EXPECT_DOUBLE_EQ((*figures)->write_latency, 260e-9);
}

TEST(NumaFigures, AreThoseOfTheProcessorsThatCompute) {
  testing::NodeFolder folder;
  folder.write(1, "access0", {1}, {"50000", "50000", "90", "90"});  // node 1's own processors
  EXPECT_FALSE(*read_node_figures(1, kOnNode0, folder.path()));
  EXPECT_TRUE(*read_node_figures(1, std::vector{1}, folder.path()));
  EXPECT_FALSE(*read_node_figures(1, std::vector{0, 1}, folder.path()));
  EXPECT_FALSE(*read_node_figures(1, {}, folder.path()));
}

TEST(NumaFigures, ADeviceNearerThanTheProcessorsIsPassedOver) {
  testing::NodeFolder folder;
  folder.write(1, "access0", {5}, {"400000", "400000", "20", "20"});
  folder.write(1, "access1", {0}, {"19000", "19000", "200", "200"});
  EXPECT_DOUBLE_EQ((*read_node_figures(1, kOnNode0, folder.path()))->read_bandwidth, 19e9);
}

TEST(NumaFigures, WhatFirmwareDoesNotSayIsNothing) {
  testing::NodeFolder folder;
  EXPECT_FALSE(*read_node_figures(1, kOnNode0, folder.path()));  // no such node
  folder.write(1, "access0", {0}, {"19000", "19000", "0", "0"});
  EXPECT_FALSE(*read_node_figures(1, kOnNode0, folder.path()));
  folder.write(2, "access0", {0}, {"19000"});  // the other files are missing
  EXPECT_FALSE(*read_node_figures(2, kOnNode0, folder.path()));
}

TEST(NumaFigures, FilesWithoutANumberAreNamed) {
  for (const std::string text : {"", "fast", "19000 MB/s", "-1", "1e4", "99999999999", "0x10", "1\n2"}) {
    SCOPED_TRACE(text);
    testing::NodeFolder folder;
    folder.write(1, "access0", {0}, {"19000", text, "200", "200"});
    const auto figures = read_node_figures(1, kOnNode0, folder.path());
    ASSERT_FALSE(figures.ok());
    EXPECT_THAT(figures.error().message, ::testing::HasSubstr("node1/access0/initiators/write_bandwidth"));
  }
}

}  // namespace
}  // namespace sluice::memory
