// What of ONNX a trained network does not contain, and which of its tests ask for what Sluice's ops do not claim.
#pragma once

#include <map>
#include <string>

namespace sluice::tests {

// By op: why it is not counted among those that a trained network can contain.
const std::map<std::string, std::string>& ops_not_for_training();

// Of ops that are supported, by test: the attribute, type or form that is not, in words.
const std::map<std::string, std::string>& node_test_exceptions();

// Ops that came after the tests of ONNX 1.12, up to opset 21.
const std::map<std::string, int>& later_ops();

}  // namespace sluice::tests
