// What of ONNX a trained network does not contain, and which of its tests ask for what Sluice's ops do not claim.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace sluice::tests {

// By op: why it is not counted among those that a trained network can contain.
const std::map<std::string, std::string>& ops_not_for_training();

// Of ops that are supported: the attribute, type or form of a test that is not, in words. Nothing: the test has to pass.
std::optional<std::string> node_test_exception(const std::string& test);

// Tests whose expected numbers differ from ours by their own rounding, in some versions of ONNX.
bool expects_its_own_rounding(const std::string& test);

// Ops that came after the tests of ONNX 1.12, up to opset 21.
const std::map<std::string, int>& later_ops();

}  // namespace sluice::tests
