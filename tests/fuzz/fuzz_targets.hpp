// What is fuzzed: a function for each reader of ours, and for what the verifier accepts, that takes any bytes.
//
// A target ends, whatever the bytes: an error is as good as a value. What must not be is a crash, a broken invariant
// (SLUICE_CHECK throws), memory or time without bounds. libFuzzer drives one target a program (fuzz_main.cpp, built with
// clang: CMakeLists.txt); corpus_test.cpp drives all of them for seconds, with any compiler.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::tests {

struct FuzzTarget {
  std::string_view name;                // also that of its folder in corpus/
  void (*run)(std::string_view input);  // not from several threads
};

std::span<const FuzzTarget> fuzz_targets();

// The targets, a file each; the table is in fuzz_targets.cpp.
void fuzz_json(std::string_view input);           // any document, walked, copied and written
void fuzz_text(std::string_view input);           // numbers, sizes, tiers as users write them
void fuzz_plan(std::string_view input);           // a plan file, verified, and run where it is accepted
void fuzz_verified_plan(std::string_view input);  // changes of a random plan, verified, and run where it is accepted
void fuzz_profile(std::string_view input);        // a saved profile
void fuzz_cache(std::string_view input);          // a profile cache
void fuzz_accesses(std::string_view input);       // access counts
void fuzz_machine(std::string_view input);        // a machine
void fuzz_checkpoint(std::string_view input);     // the file of a checkpoint
void fuzz_allocation(std::string_view input);     // an offset-assignment problem
void fuzz_onnx(std::string_view input);           // a model
void fuzz_data(std::string_view input);           // images and labels of MNIST and CIFAR, text

// The same of some, and whether the input was read to its end.
bool is_read_as_profile(std::string_view input);
bool is_read_as_cache(std::string_view input);
bool is_read_as_accesses(std::string_view input);

// Plans that were verified so far, and how many of them were accepted.
struct PlanCounts {
  std::int64_t verified = 0, accepted = 0;
};
PlanCounts& plan_counts();

}  // namespace sluice::tests
