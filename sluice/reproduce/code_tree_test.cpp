#include "sluice/reproduce/code_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/testing/git_repository.hpp"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CodeTreeTest, SeesWhatIsChangedCommittedOrNot) {
  const TestRepository repository;
  repository.write("sluice/exec/a.cpp", "one");
  repository.write("sluice/exec/deeper/b.cpp", "two");
  repository.write("sluice/executor.cpp", "three");
  const std::string commit = repository.commit();
  const auto before = tree_of_commit(repository.root(), commit);
  ASSERT_TRUE(before.ok()) << before.error().message;
  EXPECT_EQ(before->commit, commit);
  const std::vector<std::string> paths = {"sluice/exec", "sluice/exec/deeper", "sluice/executor.cpp"};
  EXPECT_THAT(changed_paths(*before, *tree_of_working_files(repository.root()), paths), ElementsAre());

  repository.write("sluice/exec/deeper/b.cpp", "two // a comment");
  const auto edited = tree_of_working_files(repository.root());
  ASSERT_TRUE(edited.ok()) << edited.error().message;
  EXPECT_THAT(changed_paths(*before, *edited, paths), ElementsAre("sluice/exec", "sluice/exec/deeper"));
  EXPECT_EQ(repository.git("status --porcelain"),
            " M sluice/exec/deeper/b.cpp");  // nothing was added to the index

  repository.commit();
  EXPECT_EQ(tree_of_working_files(repository.root())->hash_of("sluice/exec"), edited->hash_of("sluice/exec"));
}

TEST(CodeTreeTest, NewFilesCountAndTestsDoNot) {
  const TestRepository repository;
  repository.write("a/x.cpp", "one");
  const auto before = tree_of_commit(repository.root(), repository.commit());
  repository.write("a/x_test.cpp", "test");
  EXPECT_THAT(changed_paths(*before, *tree_of_working_files(repository.root()), {"a"}), ElementsAre());
  repository.write("a/y.cpp", "");
  EXPECT_THAT(changed_paths(*before, *tree_of_working_files(repository.root()), {"a"}), ElementsAre("a"));
}

TEST(CodeTreeTest, WhatIsNotThereHasNoHash) {
  const TestRepository repository;
  repository.write("a/x.cpp", "one");
  const auto tree = tree_of_commit(repository.root(), repository.commit());
  EXPECT_EQ(tree->hash_of("b"), "");
  EXPECT_EQ(tree->hash_of("a/x"), "");
  EXPECT_EQ(tree->hash_of("a").size(), 12U);
  EXPECT_NE(tree->hash_of("a/x.cpp"), "");
}

TEST(CodeTreeTest, SaysWhereThereIsNoRepositoryAndNoCommit) {
  const TestRepository repository;
  repository.write("a/x.cpp", "one");
  const auto none = tree_of_working_files(repository.root());
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("is not the top of a git repository"));
  repository.commit();
  EXPECT_FALSE(tree_of_working_files(repository.root() / "a").ok());
  EXPECT_FALSE(tree_of_commit(repository.root(), "0123456").ok());
}

}  // namespace
}  // namespace sluice
